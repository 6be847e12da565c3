// `npm run faults`: the fault tests, each fault ten times as often as in `npm test`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "./debian.mjs";
import { faultTable } from "./faultTable.mjs";
import { run, setUp } from "./setup.mjs";

setUp();
findPrograms();
const folder = mkdtempSync(join(tmpdir(), "kit-faults-"));
process.env.KIT_FAULTS = "long";
process.env.KIT_FAULT_ROWS = join(folder, "rows.ndjson");
const vitest = join("node_modules", "vitest", "vitest.mjs");
process.exitCode = run(process.execPath, vitest, "run", "tests/faults", ...process.argv.slice(2));
console.log(faultTable(process.env.KIT_FAULT_ROWS));
rmSync(folder, { recursive: true });
