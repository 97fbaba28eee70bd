// The report in a real browser: node page_test.mjs CHROMIUM SAMPLE-PROGRAM ANSWERS-PROGRAM
// It renders, says nothing on the console, asks for nothing but itself; pictures answer as the machine does; tables sort;
// figures are copied; all of it by keyboard too; and without scripts, on a phone and on paper it can be read.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [chromium, sample, answers] = process.argv.slice(2);
const output = (program) => {
  const run = spawnSync(program, { encoding: "utf8", maxBuffer: 1 << 30 });
  assert.equal(run.status, 0, `${program}: ${run.stderr}`);
  return run.stdout;
};

const folder = mkdtempSync(join(tmpdir(), "coalesce-page-"));
const file = join(folder, "report.html"), url = pathToFileURL(file).href;
writeFileSync(file, output(sample));
const questions = output(answers).trim().split("\n").map((line) => JSON.parse(line));
const browser = await launch(chromium);
let checks = 0;
const check = async (name, test) => {
  await test();
  ++checks;
  console.log("ok", name);
};

try {
  const tab = await browser.tab();
  await tab.size(1280, 900);
  const began = Date.now();
  await tab.open(url);
  const took = Date.now() - began;
  const at = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
  const shown = () => tab.evaluate(`[...document.querySelectorAll(".page")].filter((p) => p.offsetParent).map((p) => p.id)`);
  const settled = () => tab.evaluate("new Promise((r) => setTimeout(r, 60))");

  await check("opens on the overview, one page at a time", async () => {
    assert.deepEqual(await shown(), ["overview"]);
    assert.ok(took < 5000, `took ${took} ms`);  // a second where nothing else runs; CI is slower
  });

  await check("names that try to be markup are text", async () => {
    assert.equal(await tab.evaluate(`document.querySelectorAll("script").length`), 2);
    assert.match(await tab.evaluate(at("#overview") + ".textContent"), /<\/script><script>alert\(1\)/);
    assert.equal(await tab.evaluate(`document.querySelectorAll("main i, main img").length`), 0);
  });

  await check("links and addresses lead to pages and rungs", async () => {
    await tab.evaluate(`location.hash = "#ladder"`);
    await settled();
    assert.deepEqual(await shown(), ["ladder"]);
    assert.equal(await tab.evaluate(at("nav a[aria-current]") + ".textContent"), "ladder");
    assert.equal(await tab.evaluate(`document.activeElement.id`), "ladder---h");
    await tab.evaluate(`location.hash = "#ladder--fast"`);
    await settled();
    assert.equal(await tab.evaluate(at("#ladder--fast") + ".open"), true);
    await tab.evaluate(`location.hash = "#%E0%A4%A"`);
    await settled();
    assert.deepEqual(await shown(), ["overview"]);
  });

  await check("keys turn pages and change the theme", async () => {
    const before = await shown();
    await tab.key("]");
    await settled();
    assert.notDeepEqual(await shown(), before);
    await tab.key("[");
    await settled();
    assert.deepEqual(await shown(), before);
    const ground = () => tab.evaluate("getComputedStyle(document.body).backgroundColor");
    await tab.scheme("light");
    const light = await ground();
    await tab.key("t");
    await tab.key("t");
    assert.equal(await tab.evaluate("document.documentElement.dataset.theme"), "dark");
    const dark = await ground();
    assert.notEqual(light, dark);
    await tab.key("t");
    await tab.scheme("dark");
    assert.equal(await ground(), dark);
    await tab.scheme("light");
  });

  await check("tables sort, both ways, by keyboard", async () => {
    await tab.evaluate(`location.hash = "#ladder"`);
    await settled();
    const table = at("#ladder---ladder table");
    const column = () => tab.evaluate(`[...${table}.tBodies[0].rows].map((r) => r.cells[0].textContent)`);
    await tab.evaluate(`[...${table}.querySelectorAll("thead button")].find((b) => b.textContent === "wavefronts").focus()`);
    await tab.key("Enter");
    assert.deepEqual(await column(), ["middle<int, 4>", "fast", "slow"]);
    await tab.key("Enter");
    assert.deepEqual(await column(), ["fast", "middle<int, 4>", "slow"]);
    assert.equal(await tab.evaluate(`${table}.querySelector("[aria-sort]").getAttribute("aria-sort")`), "ascending");
  });

  await check("the chart shows any counter", async () => {
    const chart = "#ladder .chart";
    assert.equal(await tab.evaluate(`document.querySelectorAll(${JSON.stringify(chart + " [aria-label=bar] rect")}).length`), 3);
    await tab.evaluate(`{ const s = ${at(chart)}.querySelector("[name=name]"); s.value = "instructions"; s.dispatchEvent(new Event("input", { bubbles: true })); }`);
    assert.match(await tab.evaluate(at(chart) + ".textContent"), /ladder: instructions/);
    await tab.evaluate(`{ const s = ${at(chart)}.querySelector("[name=scale]"); s.value = "log"; s.dispatchEvent(new Event("input", { bubbles: true })); }`);
    const widths = await tab.evaluate(`[...document.querySelectorAll(${JSON.stringify(chart + " [aria-label=bar] rect")})].map((r) => Number(r.getAttribute("width")))`);
    assert.ok(widths.length === 3 && widths.every((w) => w > 0), JSON.stringify(widths));
  });

  await check("figures are copied as JSON and CSV", async () => {
    await tab.evaluate(`window.copied = []; navigator.clipboard && (navigator.clipboard.writeText = async (t) => { copied.push(t); })`);
    await tab.evaluate(`[...${at("#ladder---ladder")}.querySelectorAll(".copy button")].forEach((b) => b.click())`);
    await settled();
    const [json, csv] = await tab.evaluate("copied");
    const data = JSON.parse(json);
    assert.equal(data.rows.find((r) => r.rung === "slow").sectors, 4000);
    assert.match(data.origin, /^counted by the machine as NVIDIA H200/);
    assert.match(csv, /^rung,sectors,wasted,wavefronts/);
    assert.match(csv, /^"middle<int, 4>",900,/m);
  });

  await check("every figure says how its numbers came about and can be copied", async () => {
    // A chart is drawn when its page is first shown.
    await tab.evaluate(`(async () => {
      const before = location.hash;
      for (const link of [...document.querySelectorAll("nav a[href^='#']")].map((a) => a.hash).concat(before)) {
        location.hash = link;
        await new Promise((r) => setTimeout(r, 30));
      }
    })()`);
    const bare = await tab.evaluate(`[...document.querySelectorAll("main figure")].filter((f) =>
      !/^(counted|timed) /.test(f.querySelector(".how")?.textContent ?? "") || f.querySelectorAll(".copy button").length !== 2).map((f) => f.id)`);
    assert.deepEqual(bare, []);
  });

  await check("ids are unique", async () => {
    assert.equal(await tab.evaluate(`(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id); return ids.length - new Set(ids).size; })()`), 0);
  });

  const ask = (picture, values) =>
    tab.evaluate(`(() => {
      const form = document.querySelector('form[data-picture="${picture}"]'), values = ${JSON.stringify(values)};
      for (const e of form.elements) if (e.name in values) e.value = values[e.name];
      form.dispatchEvent(new Event("input"));
      const figure = form.nextElementSibling, svg = figure.querySelector("svg");
      return { answer: figure.querySelector(".answer").textContent, seats: svg.querySelectorAll("g.f, g.c").length,
               conflicts: svg.querySelectorAll("g.c").length, moved: svg.querySelectorAll("rect.w").length,
               label: svg.getAttribute("aria-label") };
    })()`);

  await check("the bank picture answers as the machine does", async () => {
    const some = questions.filter((q) => q.banks).map((q) => q.banks).filter((_, i) => i % 29 === 0);
    assert.ok(some.length > 200);
    for (const q of some) {
      const shown = await ask("banks", q);
      assert.equal(shown.answer, q.summary, JSON.stringify(q));
      assert.equal(shown.label, q.summary);
    }
  });

  await check("the sector picture answers as the machine does", async () => {
    const some = questions.filter((q) => q.sectors).map((q) => q.sectors).filter((_, i) => i % 17 === 0);
    for (const q of some) {
      const shown = await ask("sectors", q);
      assert.equal(shown.answer, q.summary, JSON.stringify(q));
      assert.equal(shown.moved, q.sectors);
    }
  });

  await check("pictures answer to the keyboard, and a wrong number changes nothing", async () => {
    await tab.evaluate(`location.hash = "#banks"`);
    await settled();
    await ask("banks", { stride: 32, width: 4, pad: 0, lanes: 32, kind: "load" });
    await tab.evaluate(`document.querySelector('form[data-picture="banks"]').elements.pad.focus()`);
    await tab.key("ArrowUp");
    await settled();
    assert.equal(await tab.evaluate(at("#banks .answer") + ".textContent"), "1 wavefront: free of bank conflicts.");
    for (const wrong of ["-1", "99999", "1.5", "", "1e9"]) await ask("banks", { stride: wrong });
    assert.equal(await tab.evaluate(at("#banks .answer") + ".textContent"), "1 wavefront: free of bank conflicts.");
    assert.equal(await tab.evaluate(`document.querySelectorAll('#banks :invalid').length > 0`), true);
  });

  await check("Tab reaches the navigation, the theme and the tables", async () => {
    await tab.open("about:blank");
    await tab.open(url);
    const reached = new Set();
    for (let i = 0; i < 25; ++i) {
      await tab.key("Tab");
      reached.add(await tab.evaluate(`(() => { const e = document.activeElement; return e.closest("nav") ? "nav" : e.closest("thead") ? "heading" : e.className || e.textContent.slice(0, 5); })()`));
    }
    for (const what of ["skip", "Theme", "nav", "heading", "scroll"]) assert.ok(reached.has(what), `${what} of ${[...reached]}`);
  });

  await check("no page is wider than a phone", async () => {
    await tab.size(390, 844, 2, true);
    for (const id of await tab.evaluate(`[...document.querySelectorAll(".page")].map((p) => p.id)`)) {
      await tab.evaluate(`location.hash = ${JSON.stringify("#" + id)}`);
      await settled();
      const wide = await tab.evaluate("document.documentElement.scrollWidth");
      assert.ok(wide <= 390, `${id}: ${wide}`);
    }
    await tab.size(1280, 900);
  });

  await check("on paper everything is there, and afterwards all is as before", async () => {
    const open = () => tab.evaluate(`document.querySelectorAll("details[open]").length`);
    const before = await open();
    const { data } = await tab.call("Page.printToPDF", { printBackground: true });
    assert.ok(Buffer.from(data, "base64").length > 20000);
    assert.equal(await open(), before);
    await tab.call("Emulation.setEmulatedMedia", { media: "print" });
    assert.equal((await shown()).length, await tab.evaluate(`document.querySelectorAll(".page").length`));
    await tab.call("Emulation.setEmulatedMedia", { media: "" });
  });

  await check("nothing on the console, no request but the file's own", async () => {
    assert.deepEqual(tab.console, []);
    assert.deepEqual([...new Set(tab.requests)].filter((r) => !r.startsWith(url) && r !== "about:blank" && r !== "data:,"), []);
    assert.ok(tab.requests.some((r) => r.startsWith(url)));
  });

  await check("reads without scripts", async () => {
    const bare = await browser.tab();
    await bare.call("Emulation.setScriptExecutionDisabled", { value: true });
    await bare.open(url);
    const { root } = await bare.call("DOM.getDocument", { depth: -1 });
    const texts = [];
    const walk = (node) => {
      if (node.nodeName === "#text") texts.push(node.nodeValue);
      if (node.nodeName !== "SCRIPT" && node.nodeName !== "STYLE") for (const child of node.children ?? []) walk(child);
    };
    walk(root);
    const text = texts.join(" ");
    for (const part of ["4,000", "forty times fewer", "does not hold", "8 wavefronts where 1 would do", "8 sectors in 2 lines"]) {
      assert.ok(text.includes(part), part);
    }
    assert.doesNotMatch(await bare.evaluate("document.documentElement.className").catch(() => ""), /js/);
  });
  console.log(`${checks} checks, opened in ${took} ms`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
