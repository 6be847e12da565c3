// `npm test`: sets up missing parts, then runs every check. The last line counts the results.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { CHAT_TEMPLATES } from "./chatTemplates.mjs";
import { findPrograms } from "./debian.mjs";
import { faultTable } from "./faultTable.mjs";
import { ROOT } from "./files.mjs";
import { ENVIRONMENTS } from "./pythonEnvironment.mjs";
import { REAL_WEIGHTS } from "./realWeights.mjs";
import { runInBackground, runVitest, setUp } from "./setup.mjs";
import { hasVulkan } from "./swiftshader.mjs";

/** On two idle cores. README.md has this number, too. */
const USUAL_MINUTES = 11;

/** Exists if llama.cpp is installed. */
const LLAMA_STAMP = join(ROOT, ".llama", "kit-digest.txt");

/** Exists if Node for arm64 is installed. */
const WINDOWS = join(ROOT, ".windows");
const ARM_STAMP = join(ROOT, ".arm", "kit-packages.txt");

/** The scripts of `npm run check`, by name. */
const CHECKS = {
  format: "format:check",
  lint: "lint",
  python: "lint:python",
  types: "types",
  "unused code": "unused",
  package: "package",
};

const CHECK_NICENESS = 5;

let testsHaveEnded = false;
let passed = 0;
let failed = 0;

console.log(`kit: this usually takes about ${USUAL_MINUTES} minutes on two cores.`);
console.log("kit: 1 of 2: installing missing dependencies and programs, building …");
await setUp();
findPrograms();
const names = Object.keys(CHECKS).join(", ");
console.log(
  `kit: 2 of 2: running the tests and, in parallel, the checks of the sources (${names});`,
);
console.log("kit: each finished file and each finished check prints a line …");
const [failures] = await Promise.all([runChecks(), runTests()]);
for (const failure of failures) console.log(failure);
if (!existsSync(ENVIRONMENTS.python.stamp)) {
  console.log("kit: not tested: the Python engine, and its files by ruff. Run: npm run python");
}
if (!existsSync(REAL_WEIGHTS)) {
  console.log("kit: not tested: the engines on real weights. Run: npm run python");
}
if (!existsSync(CHAT_TEMPLATES)) {
  console.log("kit: not tested: chat templates of published models. Run: npm run python");
}
if (!existsSync(LLAMA_STAMP)) {
  console.log("kit: not tested: GGUF files in llama.cpp. Run: npm run llama");
}
if (!existsSync(ARM_STAMP)) {
  console.log("kit: not tested: Linux arm64. Run: npm run arm");
}
if (!existsSync(WINDOWS)) console.log("kit: not tested: Node for Windows. Run: npm run windows");
if (!existsSync(ENVIRONMENTS.trackers.stamp)) {
  console.log("kit: not tested: TensorBoard, MLflow and W&B. Run: npm run trackers");
}
if (!hasVulkan()) {
  console.log("kit: not tested: the WebGPU engine. Install Debian's chromium and libvulkan1.");
}
if (!existsSync(ENVIRONMENTS.ray.stamp)) {
  console.log("kit: not tested: the Ray engine. Run: npm run test:ray");
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

/**
 * Runs the checks, at a lower priority than the tests until those have ended. At the lowest priority, other
 * programs would starve them. Resolves with the failures, to show after the tests.
 */
async function runChecks() {
  const failures = [];
  for (const [name, script] of Object.entries(CHECKS)) {
    const { code, output } = await runInBackground(
      ["npm", "run", "--silent", script],
      testsHaveEnded ? 0 : CHECK_NICENESS,
    );
    console.log(`${code === 0 ? "✓" : "✗"} ${name}`);
    if (code === 0) passed++;
    else failed++;
    if (code !== 0) failures.push(`${output}✗ ${name}`);
  }
  return failures;
}

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), "kit-test-"));
  const report = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  process.env.KIT_FAULT_ROWS = join(folder, "faults.ndjson");
  const exitCode = await runVitest(...reporters, ...process.argv.slice(2));
  testsHaveEnded = true;
  console.log(faultTable(process.env.KIT_FAULT_ROWS));
  if (existsSync(report)) {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(
      readFileSync(report, "utf8"),
    );
    passed += numPassedTests;
    failed += numFailedTests;
    for (const file of testResults) printFailures(file);
    // A file did not load, or an error occurred outside any test.
    if (exitCode !== 0 && numFailedTests === 0) failed++;
  } else {
    failed++;
  }
  rmSync(folder, { recursive: true, force: true });
}

/** Prints one line per failure, near the end, where a truncated log still shows them. */
function printFailures({ name, message, assertionResults }) {
  const file = relative(process.cwd(), name);
  if (message) console.log(`✗ ${file}: ${firstLine(message)}`);
  for (const test of assertionResults) {
    if (test.status !== "failed") continue;
    console.log(`✗ ${file} > ${test.fullName}: ${firstLine(test.failureMessages.join("\n"))}`);
  }
}

function firstLine(text) {
  return text.split("\n", 1)[0];
}
