// A chart of any counter over a page's rungs.
import { barX, axisX, axisY, gridX, plot, ruleX, text } from "@observablehq/plot";
import { format } from "d3";
import { makeCopyable } from "./tables.js";

const short = (value) => (value < 1e4 ? format(",")(value) : format(".3~s")(value));
const FIRST = ["moved_sectors", "bank_conflicts", "wasted_sectors"];
const TIMED = ["cold_microseconds", "warm_microseconds", "gigabytes_per_second"]; // of a GPU, where there was one

// Names of everything that was counted on some rung and not alike on all of them first.
function measures(rungs) {
  const value = (rung, name) => rung[name] ?? rung.gpu?.[name] ?? rung.counters[name];
  const names = [...FIRST, ...TIMED, ...Object.keys(rungs[0].counters)].filter((name) => rungs.some((r) => value(r, name)));
  return { names, value };
}

const COLOURS = [
  [/wasted|local/, "var(--wasted)"],
  [/conflict|divergent/, "var(--conflict)"],
  [/shared/, "var(--waves)"],
  [/sector|line|byte|request/, "var(--sectors)"],
  [/./, "var(--instr)"],
];

export function makeChart(place, page, data) {
  if (page.rungs.length < 2) return;
  const { names, value } = measures(page.rungs);
  if (!names.length) return;
  const form = document.createElement("form");
  form.className = "ask";
  form.innerHTML =
    '<label>counter<select name="name"></select></label><label>scale<select name="scale">' +
    '<option value="linear">linear</option><option value="log">logarithmic</option></select></label>';
  form.elements.name.append(...names.map((n) => new Option(n.replaceAll("_", " "), n)));
  // First the sectors, unless these hardly tell the rungs apart and something else does.
  const spread = (name) => {
    const values = page.rungs.map((r) => value(r, name));
    return (Math.max(...values) + 1) / (Math.min(...values) + 1);
  };
  const first = FIRST.filter((name) => names.includes(name));
  if (first.length) form.elements.name.value = first.find((name) => spread(name) > 1.1) ?? first[0];
  const figure = document.createElement("figure");
  figure.innerHTML = '<figcaption><span class="t"></span> <span class="how"><b></b> <span></span></span></figcaption><div></div>';
  const rows = () => {
    const name = form.elements.name.value;
    return page.rungs.map((r) => ({ rung: r.name, [name]: value(r, name) }));
  };
  const draw = () => {
    const name = form.elements.name.value, log = form.elements.scale.value === "log";
    const bars = rows().map((r) => ({ rung: r.rung, value: r[name] }));
    const shown = log ? bars.filter((b) => b.value > 0) : bars;
    const colour = COLOURS.find(([pattern]) => pattern.test(name))[1];
    const longest = Math.max(...bars.map((b) => b.rung.length));
    const width = Math.max(320, Math.min(900, place.clientWidth || 900));
    const timed = TIMED.includes(name);
    figure.querySelector(".how b").textContent = timed ? "timed" : data.how;
    figure.querySelector(".how span").textContent = timed ? `on an ${page.gpu}` : data.where;
    figure.querySelector(".t").textContent = `${page.name}: ${name.replaceAll("_", " ")}`;
    figure.lastElementChild.replaceChildren(
      plot({
        width,
        height: 34 + 24 * bars.length,
        marginLeft: Math.min(16 + longest * 6.6, width / 2),
        marginRight: 56,
        marginBottom: 28,
        style: { fontSize: "12px", color: "currentColor", background: "none" },
        x: log ? { type: "log", nice: true } : { nice: true, domain: [0, Math.max(1, ...bars.map((b) => b.value))] },
        y: { domain: bars.map((b) => b.rung), label: null },
        marks: [
          gridX({ ticks: 5, stroke: "var(--rule)", strokeOpacity: 1 }),
          axisX({ ticks: 5, tickFormat: short, label: null }),
          axisY({ tickSize: 0, label: null }),
          // On a logarithmic scale bars start at the scale's left end, as there is no zero.
          barX(shown, log
            ? { x1: Math.max(0.5, Math.min(...shown.map((b) => b.value)) / 2), x2: "value", y: "rung", fill: colour, insetTop: 2, insetBottom: 2 }
            : { x: "value", y: "rung", fill: colour, insetTop: 2, insetBottom: 2 }),
          text(shown, { x: "value", y: "rung", text: (b) => short(b.value), textAnchor: "start", dx: 4, fill: "currentColor",
            title: (b) => `${b.rung}: ${format(",")(b.value)}` }),
          log ? [] : ruleX([0]),
        ],
      }),
    );
  };
  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
  place.append(form, figure);
  makeCopyable(figure, rows);
  return draw;
}
