// `npm run bench`: measures Kit against what the machine allows, and prints a table.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { closeBrowser } from "./browser.ts";
import { describeMachine } from "./machine.ts";
import { ROOT } from "./places.ts";
import type { Size } from "./row.ts";
import { ROWS } from "./rows.ts";
import { inScope } from "./scope.ts";
import { type Outcome, formatTable } from "./table.ts";

/** A row that takes longer hangs. */
const ROW_LIMIT_MS = 240_000;

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    tiny: { type: "boolean", default: false },
    rows: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const size: Size = values.tiny ? "tiny" : values.quick ? "quick" : "full";
const numbers = values.rows?.split(",").map(Number);

// Before the bench itself keeps it busy.
const machine = describeMachine();
const outcomes: Outcome[] = [];
for (const row of ROWS.filter(({ number }) => numbers?.includes(number) ?? true)) {
  const start = performance.now();
  console.error(`${row.number}. ${row.work} …`);
  try {
    const lines = await inScope(size, ROW_LIMIT_MS, (scope) => row.measure(scope));
    outcomes.push({ row, lines });
  } catch (error) {
    console.error(error);
    outcomes.push({
      row,
      lines: [],
      error: error instanceof Error ? error.message : String(error),
    });
  }
  console.error(`   ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
await closeBrowser();

const report = `Sizes: ${size}. Machine: ${machine}.\n\n${formatTable(outcomes)}\n`;
console.log(report);
if (values.write) writeFileSync(join(ROOT, "bench", "RESULTS.md"), `# Results\n\n${report}`);
// What a row that failed has left open keeps nothing waiting.
process.exit(outcomes.some(({ error }) => error !== undefined) ? 1 : 0);
