// The machine's rules (machine/observe/traffic.h, docs/counters.md) in JavaScript, for the interactive pictures.
// tests/report/rule_test.mjs holds them to the C++ ones, figure by figure and picture by picture.

const BANKS = 32, BANK_BYTES = 4, PASS_BYTES = BANKS * BANK_BYTES;

// The byte address of each lane: element lane * (stride + pad), as `coalesce banks` asks.
export function paddedAddresses({ stride, width, pad, lanes = 32 }) {
  return Array.from({ length: lanes }, (_, lane) => lane * (stride + pad) * width);
}

// The byte address of each of 32 lanes: element offset + lane * stride of an array that starts on a 128-byte line.
export function stridedAddresses({ stride, offset, width }) {
  return Array.from({ length: 32 }, (_, lane) => (offset + lane * stride) * width);
}

// Where the words of an access to shared memory sit: for each group of lanes that is judged by itself, how many passes
// it takes and its seats, each a word of `span` banks in one of the passes with the lanes that ask for it. Addresses are
// multiples of `width` (1, 2, 4, 8 or 16), one for each active lane from lane 0 on; kind is "load", "store" or "atomic".
export function seatBanks(address, width, kind) {
  let size = width <= BANK_BYTES ? 32 : Math.max(PASS_BYTES / width, 4);
  const alike = (flip) => address.every((a, lane) => (lane ^ flip) >= address.length || a === address[lane ^ flip]);
  if (kind === "load" && size < 32 && (alike(1) || alike(2))) size *= 2;
  const unit = Math.max(width, BANK_BYTES), span = unit / BANK_BYTES;
  const groups = [];
  for (let first = 0; first < address.length; first += size) {
    const last = Math.min(first + size, address.length) - 1;
    const seats = [], taken = new Array(BANKS).fill(0);
    for (let lane = first; lane <= last; ++lane) {
      const word = Math.floor(address[lane] / unit);
      const shared = kind === "atomic" ? undefined : seats.find((s) => s.word === word);
      if (shared) {
        shared.lanes.push(lane);
      } else {
        const bank = (word * span) % BANKS;
        seats.push({ word, bank, span, pass: taken[bank]++, lanes: [lane] });
      }
    }
    groups.push({ first, last, passes: Math.max(...taken), seats });
  }
  return groups;
}

export function sharedCost(address, width, kind) {
  const wavefronts = seatBanks(address, width, kind).reduce((sum, g) => sum + g.passes, 0);
  return { wavefronts, ideal: Math.min(wavefronts, Math.ceil((address.length * width) / PASS_BYTES)) };
}

// The smallest padding that leaves no conflict, at most 64 elements; undefined: none does.
export function freeingPad({ stride, width, lanes, kind }) {
  for (let pad = 0; pad <= 64; ++pad) {
    const cost = sharedCost(paddedAddresses({ stride, width, pad, lanes }), width, kind);
    if (cost.wavefronts === cost.ideal) return pad;
  }
  return undefined;
}

const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);

// Sectors, lines and bytes of an access to global memory; as above, aligned and with all lanes active.
export function globalCost(address, width) {
  return {
    sectors: distinct(address.map((a) => Math.floor(a / 32))).length,
    lines: distinct(address.map((a) => Math.floor(a / 128))).length,
    bytes: width * distinct(address).length,
  };
}

// The 128-byte lines an access touches, ascending, each with its touched sectors and the runs of bytes its lanes ask for.
export function touchedLines(address, width) {
  return distinct(address.map((a) => Math.floor(a / 128))).map((line) => {
    const runs = [];
    address.forEach((a, lane) => {
      if (Math.floor(a / 128) !== line) return;
      const same = runs.find((r) => r.byte === a % 128);
      if (same) same.lanes.push(lane);
      else runs.push({ byte: a % 128, lanes: [lane] });
    });
    runs.sort((a, b) => a.byte - b.byte);
    return { line, sectors: distinct(runs.map((r) => Math.floor(r.byte / 32))), runs };
  });
}
