// `npm test`: sets up missing parts, then runs every check. The last line counts the results.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "./debian.mjs";
import { faultTable } from "./faultTable.mjs";
import { runAside, runVitest, setUp } from "./setup.mjs";

/** On two idle cores. README.md says it, too. */
const USUAL_MINUTES = 9;

/** Two rows that run in parallel and take about equally long. */
const CHECKS = [
  { lint: "lint" },
  { types: "types", format: "format:check", "unused code": "unused", package: "package" },
];

let passed = 0;
let failed = 0;

console.log(`kit: this usually takes about ${USUAL_MINUTES} minutes on two cores.`);
console.log("kit: 1 of 3: installing missing dependencies and programs, building …");
setUp();
findPrograms();
const names = CHECKS.flatMap(Object.keys);
console.log(`kit: 2 of 3: checking the sources (${names.join(", ")}), half a minute …`);
await Promise.all(CHECKS.map(runChecks));
console.log("kit: 3 of 3: running the tests; each finished file prints a line …");
runTests();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

async function runChecks(checks) {
  for (const [name, script] of Object.entries(checks)) {
    const { code, output } = await runAside("npm", "run", "--silent", script);
    // In one call, because the other row prints at the same time.
    console.log(code === 0 ? `✓ ${name}` : `${output}✗ ${name}`);
    if (code === 0) passed++;
    else failed++;
  }
}

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
    // A file did not load, or an error was outside of any test.
    if (exitCode !== 0 && numFailedTests === 0) failed++;
  } else {
    failed++;
  }
  rmSync(folder, { recursive: true, force: true });
}
