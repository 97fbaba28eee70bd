// The report in a real browser: node page_test.mjs CHROMIUM SAMPLE-PROGRAM ANSWERS-PROGRAM
// It renders, says nothing on the console, asks for nothing but itself; pictures answer as the machine does; tables sort;
// figures are copied; all of it by keyboard too; and without scripts, on a phone and on paper it can be read.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [chromium, sample, answers] = process.argv.slice(2);
const output = (program, words = []) => {
  const run = spawnSync(program, words, { encoding: "utf8", maxBuffer: 1 << 30 });
  assert.equal(run.status, 0, `${program}: ${run.stderr}`);
  return run.stdout;
};

// Line 6 of sample.cpp, which the sample counts at.
const sourceLine = readFileSync(new URL("./sample.cpp", import.meta.url), "utf8").split("\n")[5].trim();
const folder = mkdtempSync(join(tmpdir(), "coalesce-page-"));
const file = join(folder, "report.html"), url = pathToFileURL(file).href;
writeFileSync(file, output(sample));
const runFile = join(folder, "run.html"), runUrl = pathToFileURL(runFile).href;
writeFileSync(runFile, output(sample, ["run"]));
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
  // Two frames, so that what was pending has happened however slow the machine is, and a moment.
  const settled = () =>
    tab.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 60))))");

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
    await tab.evaluate(`[...${table}.querySelectorAll("thead button")].find((b) => b.textContent === "shared memory passes").focus()`);
    await tab.key("Enter");
    assert.deepEqual(await column(), ["middle<int, 4>", "fast", "slow"]);
    await tab.key("Enter");
    assert.deepEqual(await column(), ["fast", "middle<int, 4>", "slow"]);
    assert.equal(await tab.evaluate(`${table}.querySelector("[aria-sort]").getAttribute("aria-sort")`), "ascending");
  });

  await check("the chart shows any counter, from zero, wasted stacked on useful", async () => {
    const chart = "#ladder .chart";
    const bars = () =>
      tab.evaluate(`[...document.querySelectorAll(${JSON.stringify(chart + " tbody tr")})].map((row) => ({
        name: row.cells[0].textContent, text: row.cells[2].textContent, value: Number(row.cells[2].dataset.v),
        rects: [...row.querySelectorAll("rect")].map((r) => [Number(r.getAttribute("x") ?? 0), Number(r.getAttribute("width"))]) }))`);
    const choose = (name) =>
      tab.evaluate(`{ const s = ${at(chart)}.querySelector("[name=name]");
        s.value = [...s.options].find((o) => o.textContent === ${JSON.stringify(name)}).value;
        s.dispatchEvent(new Event("input", { bubbles: true })); }`);
    const straight = (list) => {
      const most = Math.max(...list.map((b) => b.value));
      for (const b of list) {
        const [[from, useful], [x, wasted]] = b.rects;
        assert.ok(from === 0 && Math.abs(x - useful) < 0.05, JSON.stringify(b));
        assert.ok(Math.abs(useful + wasted - (100 * b.value) / most) < 0.1, JSON.stringify(b));
      }
    };
    const first = await bars();
    assert.deepEqual(first.map((b) => [b.name, b.text]), [["slow", "128 kB"], ["middle<int, 4>", "28.8 kB"], ["fast", "3.2 kB"]]);
    straight(first);
    assert.ok(Math.abs(first[0].rects[1][1] - 50) < 0.1, "half of it is wasted");
    // The script draws what the page had.
    await choose("instructions");
    assert.match(await tab.evaluate(at(chart) + ".textContent"), /ladder: instructions/);
    assert.deepEqual((await bars()).map((b) => [b.value, b.text]), [[40000, "40.0k"], [9000, "9000"], [1000, "1000"]]);
    straight(await bars());
    await choose("bytes of global memory moved");
    const again = await bars();
    assert.deepEqual(again.map((b) => [b.name, b.text, b.value]), first.map((b) => [b.name, b.text, b.value]));
    straight(again);
  });

  await check("figures are copied as JSON and CSV", async () => {
    await tab.evaluate(`window.copied = []; navigator.clipboard && (navigator.clipboard.writeText = async (t) => { copied.push(t); })`);
    await tab.evaluate(`[...${at("#ladder---ladder")}.querySelectorAll(".copy button")].forEach((b) => b.click())`);
    await settled();
    const [json, csv] = await tab.evaluate("copied");
    const data = JSON.parse(json);
    assert.equal(data.rows.find((r) => r.rung === "slow")["loads moved"], 128000);
    assert.match(data.origin, /^counted by the machine as NVIDIA H200/);
    assert.match(csv, /^rung,loads moved,loads excess,/);
    assert.match(csv, /^"middle<int, 4>",28800,/m);
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
    assert.match(await tab.evaluate(at("#banks [role=alert]") + ".textContent"), /stride \(elements\) takes a whole number from 0 to 1024, not/);
    assert.equal(await tab.evaluate(at("#banks [name=stride]") + `.getAttribute("aria-invalid")`), "true");
    await ask("banks", { stride: 32 });
    assert.equal(await tab.evaluate(at("#banks [role=alert]") + ".textContent"), "");
  });

  await check("the address holds the question, and a bad one is answered", async () => {
    await ask("banks", { stride: 4, width: 8, pad: 0, lanes: 16, kind: "store" });
    await settled();
    assert.equal(await tab.evaluate("location.hash"), "#banks?stride=4&width=8&pad=0&lanes=16&kind=store");
    const answer = await tab.evaluate(at("#banks .answer") + ".textContent");
    await tab.open("about:blank");
    await tab.open(url + "#banks?stride=4&width=8&pad=0&lanes=16&kind=store");
    await settled();
    assert.deepEqual(await shown(), ["banks"]);
    assert.equal(await tab.evaluate(at("#banks .answer") + ".textContent"), answer);
    await tab.evaluate(`location.hash = "#banks?stride=<b>&depth=3"`);
    await settled();
    assert.equal(await tab.evaluate(at("#banks [role=alert]") + ".textContent"),
      'stride (elements) takes a whole number from 0 to 1024, not "<b>". There is no "depth" to ask for.');
    assert.equal(await tab.evaluate(at("#banks .answer") + ".textContent"), answer);
  });

  await check("Tab reaches the navigation, the theme and the tables", async () => {
    await tab.open("about:blank");
    await tab.open(url);
    const reached = new Set();
    const press = async (times) => {
      for (let i = 0; i < times; ++i) {
        await tab.key("Tab");
        reached.add(await tab.evaluate(`(() => { const e = document.activeElement; return e.closest("nav") ? "nav" : e.closest("thead") ? "heading" : e.className || e.textContent.slice(0, 5); })()`));
      }
    };
    await press(4);
    await tab.evaluate(`location.hash = "#ladder"`);
    await settled();
    await press(12);
    for (const what of ["skip", "Theme", "nav", "heading", "scroll"]) assert.ok(reached.has(what), `${what} of ${[...reached]}`);
  });

  await check("pages have titles of their own", async () => {
    await tab.evaluate(`location.hash = "#ladder"`);
    await settled();
    assert.equal(await tab.evaluate("document.title"), "ladder \u2013 Coalesce lab: 12 experiments");
    await tab.evaluate(`location.hash = "#overview"`);
    await settled();
    assert.equal(await tab.evaluate("document.title"), "Coalesce lab: 12 experiments");
  });

  await check("the lab's overview has at most four screens, claims last", async () => {
    assert.ok((await tab.evaluate("document.documentElement.scrollHeight")) <= 4 * 900);
    const order = await tab.evaluate(`[...document.querySelectorAll("#overview .card h3 a")].map((a) => a.textContent)`);
    assert.deepEqual(order.slice(0, 3), ["ladder", "</script><script>alert(1)</script>", "banks"]);
    assert.equal(await tab.evaluate(`document.querySelectorAll("#overview .card table.bars tbody tr").length`), 24);
    assert.ok(await tab.evaluate(`!!(${at("#overview ol.lessons")}.compareDocumentPosition(${at("#claims")}) & Node.DOCUMENT_POSITION_FOLLOWING)`));
  });

  await check("no page is wider than a phone, and the pictures are whole there", async () => {
    await tab.size(390, 844, 2, true);
    for (const id of await tab.evaluate(`[...document.querySelectorAll(".page")].map((p) => p.id)`)) {
      await tab.evaluate(`location.hash = ${JSON.stringify("#" + id)}`);
      await settled();
      const wide = await tab.evaluate("document.documentElement.scrollWidth");
      assert.ok(wide <= 390, `${id}: ${wide}`);
      const inner = await tab.evaluate(`[...document.querySelectorAll(".page.now svg")].map((s) => s.getBoundingClientRect()).filter((b) => b.width && b.right > 391).length`);
      if (id === "banks" || id === "sectors") assert.equal(inner, 0, id);
    }
    // 32 seats and as many lanes in both halves together.
    const halves = await ask("banks", { stride: 1, width: 4, pad: 0, lanes: 32, kind: "load" });
    assert.equal(halves.seats, 32);
    assert.equal(await tab.evaluate(at("#banks svg") + ".classList.contains('narrow')"), true);
    await tab.size(1280, 900);
  });

  await check("on paper there are at most 12 pages, and afterwards all is as before", async () => {
    const paper = async () => {
      const { data } = await tab.call("Page.printToPDF", { printBackground: true, paperWidth: 8.27, paperHeight: 11.69 });
      return Buffer.from(data, "base64").toString("latin1").match(/\/Type\s*\/Page\b/g).length;
    };
    const open = () => tab.evaluate(`document.querySelectorAll("details[open]").length`);
    const before = await open();
    const pages = await paper();
    assert.ok(pages >= 2 && pages <= 12, `${pages} pages`);
    assert.equal(await open(), before);
    await tab.call("Emulation.setEmulatedMedia", { media: "print" });
    assert.deepEqual((await shown()).length, 13, "the overview and 12 experiments, without the aids");
    await tab.call("Emulation.setEmulatedMedia", { media: "" });
  });

  await check("a run's first screen has the verdict and the cards, the worst first", async () => {
    await tab.size(1280, 900);
    await tab.open("about:blank");
    await tab.open(runUrl);
    assert.match(await tab.evaluate(at(".verdict") + ".textContent"), /^2 of 3 kernels can be improved; the largest saving is at banked<int, 4>, sample.cpp:6: up to /);
    const cards = await tab.evaluate(`[...document.querySelectorAll("#overview > ol.cards > .card")].map((c) => ({
      rank: c.querySelector(".rank").textContent, code: c.querySelector("pre.code")?.textContent, picture: !!c.querySelector("svg.small"),
      remedy: c.querySelector(".remedy").textContent, bottom: c.getBoundingClientRect().bottom }))`);
    assert.ok(cards.length >= 2);
    assert.deepEqual(cards.map((c) => c.rank), cards.map((_, i) => String(i + 1)));
    assert.ok(cards.every((c) => c.picture && c.remedy.includes("This saves up to")));
    assert.equal(cards[0].code, sourceLine);
    assert.ok(cards[0].bottom <= 900, "the first is on the first screen");
  });

  await check("a card leads to its line, by keyboard", async () => {
    await tab.evaluate(at("#overview .card h3 a") + ".focus()");
    await tab.key("Enter");
    await settled();
    const line = await tab.evaluate(`(() => { const row = document.querySelector("tr.target"), box = row?.getBoundingClientRect();
      return row && { id: row.id, top: box.top, bottom: box.bottom, focus: row.contains(document.activeElement) }; })()`);
    assert.match(line.id, /^banked-int-4--banked-int-4---sample-cpp-6$/);
    assert.ok(line.top >= 0 && line.bottom <= 900 && line.focus, JSON.stringify(line));
  });

  await check("\"To the figures\" stays on its page", async () => {
    const before = await shown();
    await tab.evaluate(at(".skip") + ".focus()");
    await tab.key("Enter");
    await settled();
    assert.deepEqual(await shown(), before);
    assert.equal(await tab.evaluate("document.activeElement.tagName"), "H2");
  });

  await check("load and store stand apart, source has 13 px", async () => {
    const heads = await tab.evaluate(`[...document.querySelectorAll(".page.now table.source thead th")].map((t) => t.textContent)`);
    assert.ok(heads.includes("loads moved") && heads.includes("loads excess"), JSON.stringify(heads));
    assert.equal(await tab.evaluate(`getComputedStyle(document.querySelector(".page.now table.source td.code")).fontSize`), "13px");
  });

  await check("nothing on the console, no request but the file's own", async () => {
    assert.deepEqual(tab.console, []);
    assert.deepEqual([...new Set(tab.requests)].filter((r) => !r.startsWith(url) && !r.startsWith(runUrl) && r !== "about:blank" && r !== "data:,"), []);
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
    for (const part of ["128 kB", "forty times fewer", "does not hold", "8 wavefronts where 1 would do", "8 sectors in 2 lines"]) {
      assert.ok(text.includes(part), part);
    }
    assert.doesNotMatch(await bare.evaluate("document.documentElement.className").catch(() => ""), /js/);
  });
  console.log(`${checks} checks, opened in ${took} ms`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
