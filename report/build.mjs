// Bundles src/ into dist/report.js and dist/report.css, which are committed: only who changes src/ needs npm.
//   node build.mjs            writes dist/
//   node build.mjs --compare  builds in memory; exit 1 when dist/ holds something else
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourcesHash } from "./check.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);

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
// A package's licence would have to go with every copy.
const foreign = Object.keys(js.metafile.inputs).filter((file) => file.includes("node_modules"));
if (foreign.length) throw new Error(`the bundle holds the code of a package: ${foreign[0]}`);
// The report is one file: nothing in it may end the element it stands in.
const whole = (text, tag) => {
  if (text.toLowerCase().includes(`</${tag}`)) throw new Error(`the bundle contains </${tag}`);
  return text;
};
const built = {
  "report.js": whole(
    `/* sources ${sourcesHash()} */\n` + js.outputFiles[0].text,
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
