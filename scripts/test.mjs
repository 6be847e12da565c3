// `npm test`: sets up what is missing, then runs every check. The last line counts them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "./debian.mjs";
import { faultTable } from "./faultTable.mjs";
import { run, runVitest, setUp } from "./setup.mjs";

const CHECKS = {
  format: ["npm", "run", "--silent", "format:check"],
  lint: ["npm", "run", "--silent", "lint"],
  types: ["npm", "run", "--silent", "types"],
  "unused code": ["npm", "run", "--silent", "unused"],
  package: ["npm", "run", "--silent", "package"],
};

setUp();
findPrograms();

let passed = 0;
let failed = 0;
for (const [name, command] of Object.entries(CHECKS)) {
  const isGood = run(...command) === 0;
  console.log(`${isGood ? "✓" : "✗"} ${name}`);
  if (isGood) passed++;
  else failed++;
}
runTests();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

function runTests() {
  const folder = mkdtempSync(join(tmpdir(), "kit-test-"));
  const report = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  process.env.KIT_FAULT_ROWS = join(folder, "faults.ndjson");
  const exitCode = runVitest(...reporters, ...process.argv.slice(2));
  console.log(faultTable(process.env.KIT_FAULT_ROWS));
  if (existsSync(report)) {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    passed += numPassedTests;
    failed += numFailedTests;
    // A file that does not load, or an error outside of any test.
    if (exitCode !== 0 && numFailedTests === 0) failed++;
  } else {
    failed++;
  }
  rmSync(folder, { recursive: true, force: true });
}
