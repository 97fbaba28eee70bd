// The questions to the pictures: fields, ready-made questions, and the answer redrawn at every change.
import { bankSummary, bankSvg, sectorSummary, sectorSvg } from "./pictures.js";
import { paddedAddresses, seatBanks, sharedCost, globalCost, stridedAddresses } from "./rule.js";
import { makeCopyable } from "./tables.js";

const WIDTHS = [1, 2, 4, 8, 16];
const times = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

const PICTURES = {
  banks: {
    fields: [
      { name: "stride", label: "stride (elements)", min: 0, max: 1024, value: 8 },
      { name: "width", label: "bytes a lane", choices: WIDTHS, value: 4 },
      { name: "pad", label: "padding (elements per stride)", min: 0, max: 64, value: 0 },
      { name: "lanes", label: "lanes", min: 1, max: 32, value: 32 },
      { name: "kind", label: "access", choices: ["load", "store", "atomic"], value: "load" },
    ],
    presets: [
      ["neighbours", { stride: 1, width: 4, pad: 0, lanes: 32 }],
      ["stride 2", { stride: 2, width: 4, pad: 0, lanes: 32 }],
      ["stride 8", { stride: 8, width: 4, pad: 0, lanes: 32 }],
      ["stride 8, padded", { stride: 8, width: 4, pad: 1, lanes: 32 }],
      ["a tile's column", { stride: 32, width: 4, pad: 0, lanes: 32 }],
      ["the column, padded", { stride: 32, width: 4, pad: 1, lanes: 32 }],
      ["odd stride", { stride: 7, width: 4, pad: 0, lanes: 32 }],
      ["16 bytes a lane", { stride: 1, width: 16, pad: 0, lanes: 32 }],
      ["one word for all", { stride: 0, width: 4, pad: 0, lanes: 32 }],
    ],
    title: (q) =>
      `Stride ${q.stride}, ${times(q.width, "byte")} a lane, ${q.pad ? "padding " + q.pad : "no padding"}` +
      (q.lanes === 32 ? "" : `, ${times(q.lanes, "lane")}`) +
      (q.kind === "load" ? "" : `, ${q.kind}`),
    summary: bankSummary,
    svg: bankSvg,
    records: (q) => {
      const address = paddedAddresses(q), cost = sharedCost(address, q.width, q.kind);
      return seatBanks(address, q.width, q.kind).flatMap((g) =>
        g.seats.flatMap((s) => s.lanes.map((lane) => ({ lane, byte: address[lane], bank: s.bank, pass: s.pass + 1, ...cost }))),
      );
    },
  },
  sectors: {
    fields: [
      { name: "stride", label: "stride (elements)", min: 0, max: 1024, value: 2 },
      { name: "offset", label: "offset (elements)", min: 0, max: 1024, value: 0 },
      { name: "width", label: "bytes a lane", choices: WIDTHS, value: 4 },
    ],
    presets: [
      ["coalesced", { stride: 1, offset: 0, width: 4 }],
      ["shifted by one", { stride: 1, offset: 1, width: 4 }],
      ["every second", { stride: 2, offset: 0, width: 4 }],
      ["a sector each", { stride: 8, offset: 0, width: 4 }],
      ["a column of 1024", { stride: 1024, offset: 0, width: 4 }],
      ["16 bytes a lane", { stride: 1, offset: 0, width: 16 }],
      ["one byte a lane", { stride: 1, offset: 0, width: 1 }],
      ["the same for all", { stride: 0, offset: 0, width: 4 }],
    ],
    title: (q) => `Stride ${q.stride}, offset ${q.offset}, ${times(q.width, "byte")} a lane`,
    summary: sectorSummary,
    svg: sectorSvg,
    records: (q) => {
      const address = stridedAddresses(q), cost = globalCost(address, q.width);
      return address.map((byte, lane) => ({ lane, byte, sector: Math.floor(byte / 32), line: Math.floor(byte / 128), ...cost }));
    },
  },
};

function field(spec) {
  const label = document.createElement("label");
  label.textContent = spec.label;
  const input = document.createElement(spec.choices ? "select" : "input");
  if (spec.choices) {
    input.append(...spec.choices.map((c) => new Option(c, c)));
  } else {
    Object.assign(input, { type: "number", min: spec.min, max: spec.max, step: 1, inputMode: "numeric", required: true });
  }
  input.name = spec.name;
  input.value = spec.value;
  label.append(input);
  return label;
}

// Says what is wrong with a field's text; "": nothing.
function wrong(spec, text) {
  const fits = spec.choices ? spec.choices.some((c) => String(c) === text) : /^\d{1,6}$/.test(text) && text >= spec.min && text <= spec.max;
  if (fits) return "";
  const takes = spec.choices ? `one of ${spec.choices.join(", ")}` : `a whole number from ${spec.min} to ${spec.max}`;
  return `${spec.label} takes ${takes}${text === "" ? "" : `, not "${text.slice(0, 40)}"`}.`;
}

const phone = matchMedia("(max-width: 40rem)");

// The picture's questions, and what takes one from an address: "stride=8&pad=1".
export function makeAsk(form) {
  const picture = PICTURES[form.dataset.picture], page = form.closest(".page").id;
  const figure = form.nextElementSibling;
  const problem = document.createElement("p");
  problem.className = "bad problem";
  problem.id = `${page}---problem`;
  problem.setAttribute("role", "alert");
  let question;
  // The picture stays as it is while a field has something wrong.
  const draw = () => {
    const problems = picture.fields.map((f) => {
      const input = form.elements[f.name];
      const text = input.validity.badInput ? "?" : input.value, what = wrong(f, text);
      for (const [name, value] of [["aria-invalid", "true"], ["aria-describedby", problem.id]]) {
        if (what) input.setAttribute(name, value);
        else input.removeAttribute(name);
      }
      return what;
    });
    problem.textContent = problems.filter(Boolean).join(" ");
    if (problem.textContent) return false;
    question = Object.fromEntries(
      picture.fields.map((f) => {
        const text = form.elements[f.name].value;
        return [f.name, /^\d+$/.test(text) ? Number(text) : text];
      }),
    );
    figure.querySelector(".t").textContent = picture.title(question);
    figure.querySelector(".answer").textContent = picture.summary(question);
    figure.querySelector(".scroll").innerHTML = picture.svg(question, phone.matches);
    return true;
  };
  // The address then holds the question, to be passed on: once typing rests, because browsers refuse more than some
  // twenty changes a second.
  let rest;
  const asked = () => {
    if (!draw()) return;
    clearTimeout(rest);
    rest = setTimeout(() => {
      if (form.closest(".page").classList.contains("now")) history.replaceState(null, "", `#${page}?${new URLSearchParams(question)}`);
    }, 30);
  };
  form.append(...picture.fields.map(field));
  const presets = document.createElement("span");
  presets.className = "presets";
  for (const [name, values] of picture.presets) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => {
      for (const [key, value] of Object.entries(values)) form.elements[key].value = value;
      asked();
    });
    presets.append(button);
  }
  form.append(presets, problem);
  form.noValidate = true;
  form.addEventListener("input", asked);
  form.addEventListener("submit", (event) => event.preventDefault());
  phone.addEventListener("change", draw);
  draw();
  makeCopyable(figure, () => picture.records(question));
  return (text) => {
    const said = new URLSearchParams(text), problems = [];
    for (const f of picture.fields) {
      if (!said.has(f.name)) continue;
      const what = wrong(f, said.get(f.name));
      if (what) problems.push(what);
      else form.elements[f.name].value = said.get(f.name);
    }
    const known = picture.fields.map((f) => f.name);
    for (const name of said.keys()) if (!known.includes(name)) problems.push(`There is no "${name.slice(0, 40)}" to ask for.`);
    draw();
    problem.textContent = problems.join(" ");
  };
}
