// `npm test`: sets up what is missing, then runs every check. The last line counts them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { faultTable } from "./faultTable.mjs";
import { run, setUp } from "./setup.mjs";

const CHECKS = {
  format: ["npm", "run", "--silent", "format:check"],
  lint: ["npm", "run", "--silent", "lint"],
  types: ["npm", "run", "--silent", "types"],
  "unused code": ["npm", "run", "--silent", "unused"],
  package: ["npm", "run", "--silent", "package"],
};

const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];

setUp();
process.env.CHROMIUM_PATH ||= findBrowser() ?? installBrowser();

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
  const vitest = join("node_modules", "vitest", "vitest.mjs");
  process.env.KIT_FAULT_ROWS = join(folder, "faults.ndjson");
  const exitCode = run(process.execPath, vitest, "run", ...reporters, ...process.argv.slice(2));
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

function findBrowser() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const paths = BROWSERS.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find((path) => existsSync(path));
}

function installBrowser() {
  const canInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
  if (canInstall && run("apt-get", "update") === 0) run("apt-get", "install", "-y", "chromium");
  const found = findBrowser();
  if (found) return found;
  console.error("kit: the browser tests need Chromium. Install it, or set CHROMIUM_PATH to one.");
  process.exit(1);
}
