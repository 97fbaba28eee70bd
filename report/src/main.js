// The scripts add to a report that reads without them: one page at a time, themes, sorting, copying, charts, pictures to ask.
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
const asks = new Map(); // page -> what takes a question from the address
for (const form of document.querySelectorAll("form.ask[data-picture]")) asks.set(form.closest(".page"), makeAsk(form));
for (const place of document.querySelectorAll(".chart[data-page]")) {
  const page = data.pages.find((p) => p.id === place.dataset.page);
  if (page) makeChart(place, page, data);
}

// ---- Pages ----

const pages = [...document.querySelectorAll(".page")];
const links = [...document.querySelectorAll("header nav a")];
const title = document.title;

// "#banks?stride=8" is the page "banks" with a question.
function show(hash, focus) {
  const [id, question] = hash.slice(1).split("?");
  let target;
  try {
    target = document.getElementById(decodeURIComponent(id));
  } catch {
    target = null;  // no address of ours
  }
  const page = target?.closest(".page") ?? pages[0];
  for (const p of pages) p.classList.toggle("now", p === page);
  document.title = page === pages[0] ? title : `${page.querySelector("h2").textContent} \u2013 ${title}`;
  for (const a of links) {
    if (a.hash === "#" + page.id) {
      a.setAttribute("aria-current", "page");
      // Not scrollIntoView: the page itself must stay where it is.
      a.parentElement.scrollLeft = a.offsetLeft - a.parentElement.clientWidth / 2;
    } else a.removeAttribute("aria-current");
  }
  if (question !== undefined) asks.get(page)?.(question);
  for (const old of document.querySelectorAll(".target")) old.classList.remove("target");
  if (target && target !== page) {
    for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    target.classList.add("target");
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
    if (focus) (target.querySelector("summary, a") ?? target).focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
    if (focus) page.querySelector("h2").focus({ preventScroll: true });
  }
}
// "To the figures" stays on its page.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  pages.find((p) => p.classList.contains("now")).querySelector("h2").focus();
});
addEventListener("hashchange", () => show(location.hash, true));

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

// On paper the theme is light; then all is as before. What is folded stays so: unfold first what is to be printed.
let themeBefore = "auto";
addEventListener("beforeprint", () => {
  themeBefore = root.dataset.theme ?? "auto";
  setTheme("light");
});
addEventListener("afterprint", () => setTheme(themeBefore));

show(location.hash, false);
// The browser scrolls to the address's element by itself when all is loaded: above it is the heading.
addEventListener("load", () => setTimeout(() => show(location.hash, false)));
