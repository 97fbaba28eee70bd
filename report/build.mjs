// Bundles src/ into dist/report.js and dist/report.css, which are committed: only who changes src/ needs npm.
//   node build.mjs            writes dist/
//   node build.mjs --compare  builds in memory; exit 1 when dist/ holds something else
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourcesHash } from "./check.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);

// The texts that the bundled packages' licences ask to be kept with every copy. Packages under one text share it.
function notices(inputs) {
  const names = [...new Set(Object.keys(inputs).map((f) => f.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]))];
  const byText = new Map();
  for (const name of names.filter(Boolean).sort()) {
    const file = readdirSync(at("node_modules", name)).find((f) => /^licen[cs]e/i.test(f));
    if (!file) throw new Error(`${name} has no licence file`);
    const text = readFileSync(at("node_modules", name, file), "utf8").trim().replaceAll("*/", "* /");
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  return [...byText].map(([text, packages]) => `${packages.join(", ")}\n\n${text}`).join("\n\n----\n\n");
}

const options = { absWorkingDir: root, bundle: true, minify: true, write: false, metafile: true, logLevel: "warning" };
const js = await build({
  ...options,
  entryPoints: ["src/main.js"],
  outfile: "report.js",
  format: "iife",
  target: "es2020",
  charset: "ascii",
});
const css = await build({ ...options, entryPoints: ["src/style.css"], outfile: "report.css", charset: "ascii" });
// The report is one file: nothing in it may end the element it stands in.
const whole = (text, tag) => {
  if (text.toLowerCase().includes(`</${tag}`)) throw new Error(`the bundle contains </${tag}`);
  return text;
};
const built = {
  "report.js": whole(
    `/* sources ${sourcesHash()} */\n/* This script contains:\n\n${notices(js.metafile.inputs)}\n*/\n` + js.outputFiles[0].text,
    "script",
  ),
  "report.css": whole(css.outputFiles[0].text, "style"),
};

let wrong = 0;
if (!process.argv.includes("--compare")) mkdirSync(at("dist"), { recursive: true });
for (const [name, text] of Object.entries(built)) {
  const file = at("dist", name);
  if (!process.argv.includes("--compare")) {
    writeFileSync(file, text);
    console.log(`dist/${name}: ${Buffer.byteLength(text)} bytes`);
  } else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error(`dist/${name} is not what its sources give: npm run build`);
    wrong = 1;
  }
}
process.exit(wrong);
