// `npm run bench`: sets up missing parts, then runs the benchmark.
import { join } from "node:path";
import { findPrograms } from "./debian.mjs";
import { ROOT, run, setUp } from "./setup.mjs";

await setUp();
findPrograms();
const script = join(ROOT, "scripts", "runBench.mjs");
process.exitCode = run(process.execPath, script, ...process.argv.slice(2));
