// A chart of any counter over a page's rungs: bars from zero, what is wasted stacked on what is useful. The first chart is in
// the page already (tool/present/html_chart.cpp); choosing another draws the same table anew.
const group = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");

// Three digits and a prefix, as the terminal writes them.
export function short(value, unit = "") {
  let scaled = value, prefix = "";
  for (const next of ["k", "M", "G", "T", "P", "E"]) {
    if (scaled < (prefix || unit ? 999.5 : 9999.5)) break;
    scaled /= 1000;
    prefix = next;
  }
  const digits = !prefix ? (Number.isInteger(value) ? 0 : 1) : unit ? (scaled < 99.95 ? 1 : 0) : scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  return scaled.toFixed(digits) + (unit ? " " : "") + prefix + unit;
}

const TIMED = { cold_microseconds: "us, cold", warm_microseconds: "us, warm", gigabytes_per_second: "GB/s" }; // of a GPU
const STACKED = [
  { name: "bytes of global memory moved", unit: "B", all: (r) => 32 * r.moved_sectors, wasted: (r) => 32 * r.wasted_sectors },
  { name: "passes over the banks of shared memory", all: (r) => r.shared_wavefronts, wasted: (r) => r.bank_conflicts },
];

// Everything that some rung has.
function measures(rungs) {
  const plain = Object.keys(rungs[0].counters).map((name) => ({ name: name.replaceAll("_", " "), all: (r) => r.counters[name] ?? 0 }));
  const timed = Object.entries(TIMED).map(([key, name]) => ({ name, timed: true, all: (r) => r.gpu?.[key] ?? 0 }));
  return [...STACKED, ...timed, ...plain].filter((m) => rungs.some((r) => m.all(r) > 0));
}

function element(tag, classes, text) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

function table(rungs, measure) {
  const most = Math.max(...rungs.map(measure.all)), stacked = measure.wasted && rungs.some((r) => measure.wasted(r) > 0);
  const out = element("table", "bars");
  const head = out.createTHead().insertRow(), body = out.createTBody();
  const heading = (classes, text) => {
    const th = head.appendChild(element("th", classes, text));
    th.scope = "col";
    return th;
  };
  heading("", "rung");
  const key = heading("", stacked ? "" : "from 0");
  if (stacked) key.append(element("span", "useful", "useful"), " ", element("span", "wasted", "wasted"));
  heading("n", "in all");
  if (stacked) heading("n", "wasted");
  for (const rung of rungs) {
    const all = measure.all(rung), wasted = measure.wasted ? Math.min(all, measure.wasted(rung)) : 0;
    const row = body.insertRow(), name = row.appendChild(element("th", "", rung.name));
    name.scope = "row";
    const bar = row.appendChild(element("td", "bar"));
    const useful = (100 * (all - wasted)) / most;
    bar.innerHTML =
      '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">' +
      `<rect class="useful" width="${useful}" height="8"/><rect class="wasted" x="${useful}" width="${(100 * wasted) / most}" height="8"/></svg>`;
    for (const value of stacked ? [all, wasted] : [all]) {
      const cell = row.appendChild(element("td", "n", short(value, measure.unit)));
      cell.dataset.v = value;
      cell.title = group(value);
    }
  }
  return out;
}

export function makeChart(place, page, data) {
  const figure = place.querySelector("figure"), list = measures(page.rungs);
  if (!figure || list.length < 2) return;
  const form = element("form", "ask"), label = element("label", "", "what the chart shows"), select = element("select");
  select.name = "name";
  select.append(...list.map((m, i) => new Option(m.name, i)));
  label.append(select);
  form.append(label);
  const title = figure.querySelector(".t"), how = figure.querySelector(".how");
  const shown = list.findIndex((m) => title.textContent.endsWith(": " + m.name));
  if (shown >= 0) select.value = shown;
  form.addEventListener("input", () => {
    const measure = list[select.value];
    title.textContent = `${page.name}: ${measure.name}`;
    how.firstElementChild.textContent = measure.timed ? "timed" : data.how;
    how.lastChild.textContent = measure.timed ? ` on an ${page.gpu}` : ` ${data.where}`;
    figure.querySelector("table").replaceWith(table(page.rungs, measure));
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  place.prepend(form);
}
