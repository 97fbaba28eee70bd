// The report by keyboard alone, on a desk and on a phone, in light and in dark: node keyboard_test.mjs CHROMIUM SAMPLE-PROGRAM
// On every page Tab comes by all that can be used, in the order in which it is read, each in sight, with a ring around it and
// with nothing above it; Shift+Tab goes back; Enter leads from the first page to a finding's line.
import assert from "node:assert/strict";
import { HEIGHT, eachView } from "./views.mjs";

const [chromium, sample] = process.argv.slice(2);
const wrong = [];
let pages = 0, stops = 0;

// In the page: what can be used now, and what is to be said of the element that has the focus.
const helpers = `
  window.usable = () => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0);
  window.stop = () => {
    const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e);
    const all = usable(), faults = [];
    if (!e.matches(":focus-visible")) faults.push("is not focused visibly");
    if ((style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) && style.boxShadow === "none") faults.push("has no ring");
    if (box.width < 1 || box.height < 1 || box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth)
      faults.push("is out of sight: " + JSON.stringify(box));
    const x = Math.min(Math.max(box.left + Math.min(box.width / 2, 8), 0), innerWidth - 1);
    const y = Math.min(Math.max(box.top + Math.min(box.height / 2, 8), 0), innerHeight - 1);
    const top = document.elementFromPoint(x, y);
    if (!faults.length && !(e.contains(top) || top?.contains(e))) faults.push("is below " + top?.outerHTML.slice(0, 60));
    return { at: all.indexOf(e), name: e.outerHTML.slice(0, 90), faults };
  };`;

async function onPage({ tab, name }, id) {
  const where = `#${id} of ${name}`;
  const count = await tab.evaluate("usable().length");
  // Tab begins where the address led; behind the last comes the first, in some browsers after their own buttons.
  const reached = [];
  for (let k = 0; k < count + 2 && reached.length < count; ++k) {
    await tab.key("Tab");
    if (await tab.evaluate("document.activeElement === document.body")) continue;
    const stop = await tab.evaluate("stop()");
    for (const fault of stop.faults) wrong.push(`${where}: ${stop.name} ${fault}`);
    reached.push(stop.at);
  }
  const ring = [...Array(count).keys()].map((k) => (k + reached[0]) % count);
  if (reached.join() !== ring.join()) wrong.push(`${where}: of ${count} reached ${reached}`);
  await tab.key("Tab", { modifiers: 8 });
  const back = await tab.evaluate("stop().at");
  if (back !== -1 && back !== ring.at(-2)) wrong.push(`${where}: Shift+Tab went from ${ring.at(-1)} to ${back}`);
  ++pages;
  stops += reached.length;
  if (process.env.VERBOSE) console.log(where, count, reached.length);
}

// From the first page of a run's report to a finding's line.
async function onReport({ tab, kind, name, open }) {
  if (kind !== "run") return;
  await open();
  for (let k = 0; k < 60 && !(await tab.evaluate(`!!document.activeElement.closest(".card h3")`)); ++k) await tab.key("Tab");
  await tab.key("Enter");
  await tab.evaluate("new Promise((r) => setTimeout(r, 100))");
  const line = await tab.evaluate(`(() => { const row = document.querySelector("tr.target"), b = row?.getBoundingClientRect();
    return row && { top: b.top, bottom: b.bottom, focus: row.contains(document.activeElement) }; })()`);
  if (!line || line.top < 0 || line.bottom > HEIGHT || !line.focus) wrong.push(`a card of ${name} leads to ${JSON.stringify(line)}`);
}

await eachView(chromium, sample, { script: helpers, onPage, onReport });
assert.deepEqual(wrong, []);
assert.ok(pages >= 20 && stops > 10 * pages, `${pages} pages, ${stops} stops: nothing was tried`);
console.log(`${pages} pages, ${stops} stops by Tab`);
