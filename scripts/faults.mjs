// `npm run faults`: runs the fault tests, each fault at least ten times as often as `npm test`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPrograms } from "./debian.mjs";
import { faultTable } from "./faultTable.mjs";
import { runVitest, setUp } from "./setup.mjs";

await setUp();
findPrograms();
const folder = mkdtempSync(join(tmpdir(), "kit-faults-"));
process.env.KIT_FAULTS = "long";
process.env.KIT_FAULT_ROWS = join(folder, "rows.ndjson");
process.exitCode = await runVitest("tests/faults", "--testTimeout=0", ...process.argv.slice(2));
console.log(faultTable(process.env.KIT_FAULT_ROWS));
rmSync(folder, { recursive: true });
