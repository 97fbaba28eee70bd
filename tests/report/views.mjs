// Every page of the sample reports in every view, for tests that try them all in a browser.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

export const HEIGHT = 844;

// Calls onPage(view, id) for every page of the reports of a run and of the lab, a desk or a phone wide, light and dark; then
// onReport(view). A view: { tab, kind, width, scheme, name, open() }; open() loads the report anew. `script` is evaluated once
// in each report. Pages whose id begins with "other" are left out: one page of an experiment is like the next.
export async function eachView(chromium, sample, { script = "0", onPage, onReport = async () => {} }) {
  const folder = mkdtempSync(join(tmpdir(), "coalesce-views-"));
  const browser = await launch(chromium);
  try {
    const tab = await browser.tab();
    for (const kind of ["run", "lab"]) {
      const made = spawnSync(sample, [kind], { encoding: "utf8", maxBuffer: 1 << 30 });
      assert.equal(made.status, 0, made.stderr);
      const address = pathToFileURL(join(folder, `${kind}.html`)).href;
      writeFileSync(join(folder, `${kind}.html`), made.stdout);
      const open = async () => {
        await tab.open("about:blank");
        await tab.open(address);
      };
      for (const width of [1280, 390]) {
        for (const scheme of ["light", "dark"]) {
          const view = { tab, kind, width, scheme, name: `${kind} at ${width}, ${scheme}`, open };
          await tab.size(width, HEIGHT, 1, width < 500);
          await tab.scheme(scheme);
          await open();
          await tab.evaluate(script + ";0");
          const ids = await tab.evaluate(`[...document.querySelectorAll(".page")].map((p) => p.id)`);
          for (const id of ids.filter((id) => !id.startsWith("other"))) {
            await tab.evaluate(`location.hash = ${JSON.stringify("#" + id)}; new Promise((r) => setTimeout(r, 60))`);
            await onPage(view, id);
          }
          await onReport(view);
        }
      }
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
