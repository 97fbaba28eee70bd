// The pictures of the documents: node screenshots.mjs CHROMIUM REPORT.html FOLDER. A report of `coalesce lab all` gives some of them,
// a report of examples/transpose.cu the others.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../tests/report/browser.mjs";

// name, page, what to show (one element, or from the first to the last of several), width, colours
const LAB = [
  ["report-ladder", "reduce", ["#reduce---ladder", "#reduce .chart"], 1100, "light"],
  ["report-banks", "banks", ["#banks .ask", "#banks---figure"], 1000, "light"],
  ["report-sectors-dark", "sectors", ["#sectors .ask", "#sectors---figure"], 1000, "dark"],
  ["report-phone", "transpose", ["header", "#transpose .chart"], 390, "light"],
];
const SOURCE = ["transpose_shared--transpose_shared", ["#transpose_shared--transpose_shared---source"], 1000, "light"];
const RUN = [
  ["readme", ...SOURCE],
  ["report-run", "overview", ["header", "#kernels"], 1280, "light"],
];
const MARGIN = 4;

const [chromium, report, folder] = process.argv.slice(2);
const browser = await launch(chromium);
try {
  const tab = await browser.tab();
  await tab.open(pathToFileURL(resolve(report)).href);
  const shots = (await tab.evaluate(`!!document.getElementById("${SOURCE[0]}")`)) ? RUN : LAB;
  for (const [name, page, elements, width, scheme] of shots) {
    await tab.size(width, 900, width < 500 ? 2 : 1, width < 500);
    await tab.scheme(scheme);
    await tab.open("about:blank");
    await tab.open(`${pathToFileURL(resolve(report)).href}#${page}`);
    await tab.evaluate("new Promise((r) => setTimeout(r, 300))");
    const box = await tab.evaluate(`(() => {
      const boxes = ${JSON.stringify(elements)}.map((s) => document.querySelector(s).getBoundingClientRect());
      const top = Math.min(...boxes.map((b) => b.top)) + scrollY, bottom = Math.max(...boxes.map((b) => b.bottom)) + scrollY;
      return { top, height: bottom - top };
    })()`);
    const clip = { x: 0, y: Math.max(0, box.top - MARGIN), width, height: Math.min(box.height + 2 * MARGIN, 1400), scale: 1 };
    const { data } = await tab.call("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: true });
    const bytes = Buffer.from(data, "base64");
    writeFileSync(join(folder, `${name}.png`), bytes);
    console.log(`${name}.png: ${bytes.length} bytes`);
  }
} finally {
  await browser.close();
}
