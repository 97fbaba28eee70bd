// Says whether dist/ was built from the sources that lie beside it. Needs node only, no packages: dist/report.js begins
// with a hash of all it was built from. Where the packages are installed, everything is built again and compared.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnSync } from "node:child_process";

const root = dirname(fileURLToPath(import.meta.url));

export function sourcesHash() {
  const files = ["package.json", "package-lock.json", "build.mjs", ...readdirSync(join(root, "src")).sort().map((f) => "src/" + f)];
  const hash = createHash("sha256");
  for (const file of files) {
    const bytes = readFileSync(join(root, file));
    hash.update(`${file} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const script = readFileSync(join(root, "dist/report.js"), "utf8");
  if (!script.startsWith(`/* sources ${sourcesHash()} */`)) {
    console.error("report/dist is older than its sources: npm ci && npm run build in report/");
    process.exit(1);
  }
  if (existsSync(join(root, "node_modules/esbuild"))) {
    process.exit(spawnSync(process.execPath, [join(root, "build.mjs"), "--compare"], { stdio: "inherit" }).status ?? 1);
  }
  console.log("report/dist was built from its sources (packages not installed, so not built again)");
}
