// `npm test`: sets up what is missing, then runs every check. The last line counts them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "./debian.mjs";
import { faultTable } from "./faultTable.mjs";
import { runAside, runVitest, setUp } from "./setup.mjs";

/** On two cores that do nothing else; README.md says it too. */
const USUAL_MINUTES = 5;

/** Two rows of them, which take about as long as each other. */
const CHECKS = [
  { lint: "lint" },
  { types: "types", format: "format:check", "unused code": "unused", package: "package" },
];

let passed = 0;
let failed = 0;

console.log(`kit: all of it usually takes about ${USUAL_MINUTES} minutes on two cores.`);
console.log("kit: 1 of 3: dependencies, the build, and programs that tests need, where missing …");
setUp();
findPrograms();
const names = CHECKS.flatMap(Object.keys);
console.log(`kit: 2 of 3: checks of the sources (${names.join(", ")}), half a minute …`);
await Promise.all(CHECKS.map(runChecks));
console.log("kit: 3 of 3: tests; each file says when it is done …");
runTests();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

async function runChecks(checks) {
  for (const [name, script] of Object.entries(checks)) {
    const { code, output } = await runAside("npm", "run", "--silent", script);
    // Together, for another row prints meanwhile.
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
    // A file that does not load, or an error outside of any test.
    if (exitCode !== 0 && numFailedTests === 0) failed++;
  } else {
    failed++;
  }
  rmSync(folder, { recursive: true, force: true });
}
