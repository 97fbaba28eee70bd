// The page's script answers as the machine does: node rule_test.mjs ANSWERS-PROGRAM
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { bankSummary, bankSvg, sectorSummary, sectorSvg } from "../../report/src/pictures.js";
import { globalCost, paddedAddresses, sharedCost, stridedAddresses } from "../../report/src/rule.js";

const run = spawnSync(process.argv[2], { encoding: "utf8", maxBuffer: 1 << 30 });
assert.equal(run.status, 0, run.stderr);
const counts = { banks: 0, sectors: 0, any: 0, pictures: 0 };
for (const line of run.stdout.trim().split("\n")) {
  const [[what, q]] = Object.entries(JSON.parse(line));
  const where = JSON.stringify({ ...q, svg: undefined });
  ++counts[what];
  if (what === "banks") {
    assert.deepEqual(sharedCost(paddedAddresses(q), q.width, q.kind), { wavefronts: q.wavefronts, ideal: q.ideal }, where);
    assert.equal(bankSummary(q), q.summary, where);
    if (q.svg) assert.equal(bankSvg(q), q.svg, where), ++counts.pictures;
  } else if (what === "sectors") {
    const { sectors, lines, bytes } = q;
    assert.deepEqual(globalCost(stridedAddresses(q), q.width), { sectors, lines, bytes }, where);
    assert.equal(sectorSummary(q), q.summary, where);
    if (q.svg) assert.equal(sectorSvg(q), q.svg, where), ++counts.pictures;
  } else {
    const { wavefronts, ideal, sectors, lines, bytes } = q;
    assert.deepEqual(sharedCost(q.address, q.width, q.kind), { wavefronts, ideal }, where);
    assert.deepEqual(globalCost(q.address, q.width), { sectors, lines, bytes }, where);
  }
}
assert.ok(counts.banks > 8000 && counts.sectors > 2000 && counts.any === 4000 && counts.pictures > 400, JSON.stringify(counts));
console.log(JSON.stringify(counts));
