// The two pictures as SVG text. tool/present/html_pictures.cpp draws the very same text, so that a page without scripts shows
// what one with scripts shows; tests/report/rule_test.mjs compares them byte by byte.
import { freeingPad, globalCost, paddedAddresses, seatBanks, sharedCost, stridedAddresses, touchedLines } from "./rule.js";

const LEFT = 64, BANK = 24, ROW = 20, HEAD = 18;

// [0,1,2,3,8] -> "0-3 8".
export function laneList(lanes) {
  let text = "";
  for (let i = 0; i < lanes.length; ++i) {
    let j = i;
    while (j + 1 < lanes.length && lanes[j + 1] === lanes[j] + 1) ++j;
    text += (text ? " " : "") + lanes[i] + (j > i ? "-" + lanes[j] : "");
    i = j;
  }
  return text;
}

const lanesNamed = (lanes) => (lanes.length === 1 ? "lane " : "lanes ") + laneList(lanes);

// The text of a box of `width` units: the lanes, or how many there are where their list has no room (6 units a letter).
function label(lanes, width) {
  const list = laneList(lanes);
  if (list.length * 6 <= width) return list;
  const many = "\u00d7" + lanes.length;
  return many.length * 6 <= width ? many : "";
}

const times = (n, one, many) => n + " " + (n === 1 ? one : many);

export function bankSummary(question) {
  const { wavefronts, ideal } = sharedCost(paddedAddresses(question), question.width, question.kind);
  let text = times(wavefronts, "wavefront", "wavefronts");
  if (wavefronts === ideal) return text + ": free of bank conflicts.";
  text += " where " + ideal + " would do without bank conflicts.";
  const pad = freeingPad(question);
  if (pad === undefined) return text + " No padding up to 64 elements frees it.";
  if (pad === 0) return text + " Without padding it is free.";
  return text + " Padding of " + times(pad, "element", "elements") + " after every stride frees it.";
}

// How a picture is laid out. On a phone its right half stands below the left one, and letters are larger.
const WIDE = { left: LEFT, parts: 1, letters: "" }, NARROW = { left: 60, parts: 2, letters: " narrow" };

const frame = (layout, height, summary, body) =>
  `<svg class="picture${layout.letters}" viewBox="0 0 ${layout.left + (32 * BANK) / layout.parts} ${height}" role="img" ` +
  `aria-label="${summary}">${body}</svg>`;

export function bankSvg(question, narrow = false) {
  const groups = seatBanks(paddedAddresses(question), question.width, question.kind), layout = narrow ? NARROW : WIDE;
  const { left, parts } = layout, banks = 32 / parts;
  let y = 0, body = "";
  for (let part = 0; part < parts; ++part) {
    const first = part * banks, at = (bank) => left + (bank - first) * BANK;
    body += `<text class="r" x="${left - 6}" y="${y + 12}">bank</text>`;
    for (let b = first; b < first + banks; ++b) body += `<text class="k" x="${at(b) + BANK / 2}" y="${y + 12}">${b}</text>`;
    y += HEAD;
    for (const g of groups) {
      for (let p = 0; p < g.passes; ++p) {
        body += `<text class="r" x="${left - 6}" y="${y + p * ROW + 14}">pass ${p + 1}</text>`;
        for (let b = first; b < first + banks; ++b) {
          body += `<rect class="e" x="${at(b) + 1}" y="${y + p * ROW + 1}" width="${BANK - 2}" height="${ROW - 2}"/>`;
        }
      }
      for (const s of g.seats) {
        if (s.bank < first || s.bank >= first + banks) continue;
        const x = at(s.bank), width = s.span * BANK;
        const names = s.span === 1 ? "bank " + s.bank : "banks " + s.bank + "-" + (s.bank + s.span - 1);
        body +=
          `<g class="${s.pass ? "c" : "f"}"><title>${lanesNamed(s.lanes)}: byte ${s.word * s.span * 4}, ${names}</title>` +
          `<rect x="${x + 1}" y="${y + s.pass * ROW + 1}" width="${width - 2}" height="${ROW - 2}" rx="2"/>` +
          `<text x="${x + width / 2}" y="${y + s.pass * ROW + 14}">${label(s.lanes, width)}</text></g>`;
      }
      y += g.passes * ROW;
      if (groups.length > 1) {
        body += `<text class="k l" x="${left}" y="${y + 11}">lanes ${g.first}-${g.last}</text>`;
        y += 18;
      }
    }
    y += 2;
  }
  return frame(layout, y, bankSummary(question), body);
}

export function sectorSummary(question) {
  const { sectors, lines, bytes } = globalCost(stridedAddresses(question), question.width);
  const percent = Math.floor((bytes * 100) / (sectors * 32));
  return (
    times(sectors, "sector", "sectors") + " in " + times(lines, "line", "lines") + ": " + bytes + " of " + sectors * 32 +
    " bytes moved were asked for (" + percent + " %)."
  );
}

export function sectorSvg(question, narrow = false) {
  const lines = touchedLines(stridedAddresses(question), question.width), BYTE = (32 * BANK) / 128;
  const layout = narrow ? NARROW : WIDE, { left, parts } = layout, bytes = 128 / parts;
  let y = 0, body = "";
  for (let part = 0; part < parts; ++part) {
    const from = part * bytes, at = (byte) => left + (byte - from) * BYTE;
    body += `<text class="r" x="${left - 6}" y="${y + 12}">line</text>`;
    for (let s = from / 32; s < (from + bytes) / 32; ++s) {
      body += `<text class="k" x="${at(s * 32) + 16 * BYTE}" y="${y + 12}">bytes ${s * 32}-${s * 32 + 31}</text>`;
    }
    y += HEAD;
    let before;
    for (const line of lines) {
      if (before !== undefined && line.line !== before + 1) {
        body += `<text class="k" x="${left + (bytes / 2) * BYTE}" y="${y + 7}">\u22ef</text>`;
        y += 12;
      }
      before = line.line;
      body += `<text class="r" x="${left - 6}" y="${y + 14}">+${line.line * 128}</text>`;
      for (let s = from / 32; s < (from + bytes) / 32; ++s) {
        const moved = line.sectors.includes(s);
        body +=
          `<rect class="${moved ? "w" : "e"}" x="${at(s * 32) + 1}" y="${y + 1}" width="${32 * BYTE - 2}" ` +
          `height="${ROW - 2}"><title>${moved ? "moved" : "not moved"}</title></rect>`;
      }
      for (const r of line.runs) {
        if (r.byte < from || r.byte >= from + bytes) continue;
        const x = at(r.byte), width = question.width * BYTE;
        body +=
          `<g class="f"><title>${lanesNamed(r.lanes)}: byte ${line.line * 128 + r.byte}</title>` +
          `<rect x="${x + 1}" y="${y + 3}" width="${width - 2}" height="${ROW - 6}" rx="1"/>` +
          `<text x="${x + width / 2}" y="${y + 14}">${label(r.lanes, width)}</text></g>`;
      }
      y += ROW;
    }
    y += 2;
  }
  return frame(layout, y, sectorSummary(question), body);
}
