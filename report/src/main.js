// The scripts add to a report that reads without them: one page at a time, themes, sorting, copying, pictures to ask.
import { makeAsk } from "./ask.js";
import { makeChart } from "./chart.js";
import { makeCopyable, makeSortable, tableRecords } from "./tables.js";

const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
root.classList.add("js");

for (const table of document.querySelectorAll("table.sort")) makeSortable(table);
for (const figure of document.querySelectorAll("main figure")) {
  const tables = [...figure.querySelectorAll("table")];
  if (tables.length) makeCopyable(figure, () => tables.flatMap(tableRecords));
}
for (const form of document.querySelectorAll("form.ask[data-picture]")) makeAsk(form);
// A chart is drawn when its page is first shown, as wide as it then is.
const charts = new Map();
for (const place of document.querySelectorAll(".chart[data-page]")) {
  const page = data.pages.find((p) => p.id === place.dataset.page);
  const draw = page && makeChart(place, page, data);
  if (draw) charts.set(place.closest(".page"), draw);
}

// ---- Pages ----

const pages = [...document.querySelectorAll(".page")];
const links = [...document.querySelectorAll("header nav a")];
const drawn = new Set();

function show(hash, focus) {
  let target;
  try {
    target = document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    target = null;  // no address of ours
  }
  const page = target?.closest(".page") ?? pages[0];
  for (const p of pages) p.classList.toggle("now", p === page);
  for (const a of links) {
    if (a.hash === "#" + page.id) {
      a.setAttribute("aria-current", "page");
      // Not scrollIntoView: the page itself must stay where it is.
      a.parentElement.scrollLeft = a.offsetLeft - a.parentElement.clientWidth / 2;
    } else a.removeAttribute("aria-current");
  }
  if (charts.has(page) && !drawn.has(page)) {
    drawn.add(page);
    charts.get(page)();
  }
  if (target && target !== page) {
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView();
    if (focus) (target.querySelector("summary") ?? target).focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
    if (focus) page.querySelector("h2").focus({ preventScroll: true });
  }
}
addEventListener("hashchange", () => show(location.hash, true));
addEventListener("resize", () => {
  for (const page of drawn) if (page.classList.contains("now")) charts.get(page)();
});

// [ and ] turn pages, t changes the theme; nothing happens while one types into a field.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const step = { "[": -1, "]": 1 }[event.key];
  if (step) {
    const at = pages.findIndex((p) => p.classList.contains("now"));
    location.hash = pages[(at + step + pages.length) % pages.length].id;
  } else if (event.key === "t") nextTheme();
});

// ---- Theme ----

const THEMES = ["auto", "light", "dark"];
const themeButton = document.createElement("button");
themeButton.type = "button";
const setTheme = (theme) => {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  themeButton.textContent = `Theme: ${theme}`;
};
function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length]);
}
themeButton.title = "Key: t. Pages: [ and ]";
themeButton.addEventListener("click", nextTheme);
setTheme("auto");

const tools = document.createElement("span");
tools.className = "tools";
tools.append(themeButton);
document.querySelector("header").prepend(tools);

// On paper everything is unfolded, every chart drawn and the theme light; then all is as before.
let folded = [], themeBefore = "auto";
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const d of folded) d.open = true;
  themeBefore = root.dataset.theme ?? "auto";
  setTheme("light");
  for (const [page, draw] of charts) {
    if (!drawn.has(page)) draw();
    drawn.add(page);
  }
});
addEventListener("afterprint", () => {
  for (const d of folded) d.open = false;
  setTheme(themeBefore);
});

show(location.hash, false);
// The browser scrolls to the address's element by itself when all is loaded: above it is the heading.
addEventListener("load", () => setTimeout(() => show(location.hash, false)));
