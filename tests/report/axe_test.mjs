// axe-core's rules on every page of a report of a run and of the lab, on a desk and on a phone, in light and in dark:
//   node axe_test.mjs CHROMIUM SAMPLE-PROGRAM
// Exit code 77, for ctest a test that is skipped, where axe-core is not installed (./dev setup page).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const axe = fileURLToPath(new URL("../../report/node_modules/axe-core/axe.min.js", import.meta.url));
if (!existsSync(axe)) {
  console.log("skipped: axe-core is not installed: ./dev setup page, or npm ci in report/");
  process.exit(77);
}
const [chromium, sample] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "coalesce-axe-"));
// All rules once wide and once narrow; colours, and what else a scheme or a width changes, in every view.
const SOME = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"];
const VIEWS = [[1280, "light"], [1280, "dark", SOME], [390, "light", SOME], [390, "dark"]];
const wrong = [];
let runs = 0, rules = 0;
const browser = await launch(chromium);
try {
  const tab = await browser.tab();
  for (const kind of ["run", "lab"]) {
    const made = spawnSync(sample, [kind], { encoding: "utf8", maxBuffer: 1 << 30 });
    assert.equal(made.status, 0, made.stderr);
    const file = join(folder, `${kind}.html`);
    writeFileSync(file, made.stdout);
    for (const [width, scheme, only] of VIEWS) {
      await tab.size(width, 900, 1, width < 500);
      await tab.scheme(scheme);
      await tab.open("about:blank");
      await tab.open(pathToFileURL(file).href);
      await tab.evaluate(`document.querySelectorAll("details").forEach((d) => (d.open = true))`);
      await tab.evaluate(readFileSync(axe, "utf8") + ";0");
      for (const id of await tab.evaluate(`[...document.querySelectorAll(".page")].map((p) => p.id)`)) {
        // An experiment's page is like the next one.
        if (/^other/.test(id)) continue;
        const found = await tab.evaluate(`(async () => {
          location.hash = ${JSON.stringify("#" + id)};
          await new Promise((r) => setTimeout(r, 20));
          const { violations, passes } = await axe.run(document, { resultTypes: ["violations"],
            ...${JSON.stringify(only ? { runOnly: { type: "rule", values: only } } : {})} });
          return { passes: passes.length, violations: violations.map((v) => v.id + ": " + v.help + ": " +
            v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? n.all[0]?.message ?? "")).join("; ")) };
        })()`);
        ++runs;
        rules += found.passes;
        if (process.env.VERBOSE) console.log(kind, width, scheme, id, found.violations);
        for (const v of found.violations) wrong.push(`${kind} #${id} at ${width}, ${scheme}: ${v}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(runs >= 40 && rules > 5 * runs, `${runs} pages, ${rules} rules passed: axe-core looked at nothing`);
  console.log(`${runs} pages, ${rules} rules passed, none violated`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
