// axe-core's rules on every page of a report of a run and of the lab, on a desk and on a phone, in light and in dark:
//   node axe_test.mjs CHROMIUM SAMPLE-PROGRAM
// Exit code 77, for ctest a test that is skipped, where axe-core is not installed (./dev setup page).
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { eachView } from "./views.mjs";

const axe = fileURLToPath(new URL("../../report/node_modules/axe-core/axe.min.js", import.meta.url));
if (!existsSync(axe)) {
  console.log("skipped: axe-core is not installed: ./dev setup page, or npm ci in report/");
  process.exit(77);
}
const [chromium, sample] = process.argv.slice(2);
// All rules once wide and once narrow; colours, and what else a scheme or a width changes, in every view.
const SOME = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"];
const ALL = [[1280, "light"], [390, "dark"]];
const wrong = [];
let runs = 0, rules = 0;

async function onPage({ tab, width, scheme, name }, id) {
  const only = ALL.some(([w, s]) => w === width && s === scheme) ? {} : { runOnly: { type: "rule", values: SOME } };
  const found = await tab.evaluate(`(async () => {
    const { violations, passes } = await axe.run(document, { resultTypes: ["violations"], ...${JSON.stringify(only)} });
    return { passes: passes.length, violations: violations.map((v) => v.id + ": " + v.help + ": " +
      v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? n.all[0]?.message ?? "")).join("; ")) };
  })()`);
  ++runs;
  rules += found.passes;
  if (process.env.VERBOSE) console.log(name, id, found.violations);
  for (const v of found.violations) wrong.push(`#${id} of ${name}: ${v}`);
}

const script = `document.querySelectorAll("details").forEach((d) => (d.open = true));` + readFileSync(axe, "utf8");
await eachView(chromium, sample, { script, onPage });
assert.deepEqual(wrong, []);
assert.ok(runs >= 40 && rules > 5 * runs, `${runs} pages, ${rules} rules passed: axe-core looked at nothing`);
console.log(`${runs} pages, ${rules} rules passed, none violated`);
