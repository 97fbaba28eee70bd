// The report by keyboard alone, on a desk and on a phone, in light and in dark: node keyboard_test.mjs CHROMIUM SAMPLE-PROGRAM
// On every page Tab comes by all that can be used, in the order in which it is read, each in sight, with a ring around it and
// with nothing above it; Shift+Tab goes back; Enter leads from the first page to a finding's line.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [chromium, sample] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "coalesce-keys-"));
const browser = await launch(chromium);
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

try {
  const tab = await browser.tab();
  for (const kind of ["run", "lab"]) {
    const made = spawnSync(sample, [kind], { encoding: "utf8", maxBuffer: 1 << 30 });
    assert.equal(made.status, 0, made.stderr);
    const file = join(folder, `${kind}.html`);
    writeFileSync(file, made.stdout);
    for (const width of [1280, 390]) {
      for (const scheme of ["light", "dark"]) {
        await tab.size(width, 844, 1, width < 500);
        await tab.scheme(scheme);
        await tab.open("about:blank");
        await tab.open(pathToFileURL(file).href);
        await tab.evaluate(helpers + "0");
        const ids = await tab.evaluate(`[...document.querySelectorAll(".page")].map((p) => p.id).filter((id) => !/^other/.test(id))`);
        for (const id of ids) {
          await tab.evaluate(`location.hash = ${JSON.stringify("#" + id)}; new Promise((r) => setTimeout(r, 60))`);
          const where = `${kind} #${id} at ${width}, ${scheme}`;
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
        if (kind !== "run") continue;
        // From the first page to a finding's line.
        await tab.open("about:blank");
        await tab.open(pathToFileURL(file).href);
        for (let k = 0; k < 60 && !(await tab.evaluate(`!!document.activeElement.closest(".card h3")`)); ++k) await tab.key("Tab");
        await tab.key("Enter");
        await tab.evaluate("new Promise((r) => setTimeout(r, 100))");
        const line = await tab.evaluate(`(() => { const row = document.querySelector("tr.target"), b = row?.getBoundingClientRect();
          return row && { top: b.top, bottom: b.bottom, focus: row.contains(document.activeElement) }; })()`);
        if (!line || line.top < 0 || line.bottom > 844 || !line.focus)
          wrong.push(`a card at ${width}, ${scheme}, leads to ${JSON.stringify(line)}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(pages >= 20 && stops > 10 * pages, `${pages} pages, ${stops} stops: nothing was tried`);
  console.log(`${pages} pages, ${stops} stops by Tab`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
