// `npm run bench`: measures Kit against baselines, and prints a table.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { torchDevice } from "./gpu.ts";
import { describeMachine, load } from "./machine.ts";
import { ROOT } from "./paths.ts";
import type { Row, Size } from "./row.ts";
import { gpu } from "./rows/gpu.ts";
import { inScope, releaseShared } from "./scope.ts";
import { type Outcome, formatTable } from "./table.ts";

/** A slower row hangs; some start PyTorch eight times. */
const ROW_LIMIT_MS = 600_000;
/** Tiny sizes only check that rows work, so they may run concurrently. */
const ROWS_AT_ONCE = { full: 1, quick: 1, tiny: 2 };

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    tiny: { type: "boolean", default: false },
    rows: { type: "string" },
    write: { type: "boolean", default: false },
    gpu: { type: "boolean", default: false },
  },
});
const size: Size = values.tiny ? "tiny" : values.quick ? "quick" : "full";
if (values.gpu) {
  try {
    torchDevice();
  } catch (error) {
    console.error(`kit: ${(error as Error).message}`);
    process.exit(1);
  }
}
const rows = await chooseRows();

const start = performance.now();
const loadBefore = load();
const outcomes = await measureAll(rows);
await releaseShared();

const report = [
  `Sizes: ${size}. It took ${secondsSince(start)} s.`,
  `Machine: ${describeMachine()}; load ${loadBefore} before, ${load()} after.`,
  formatTable(outcomes),
].join("\n\n");
console.log(report);
if (values.write) {
  const path = join(ROOT, "bench", "RESULTS.md");
  const [, models = ""] = readFileSync(path, "utf8").split(/^(?=## Models$)/m);
  writeFileSync(path, `# Results\n\n${report}\n\n${models}`);
}
// Exit even if a failed row has left a handle open.
process.exit(outcomes.some(({ error }) => error !== undefined) ? 1 : 0);

/** Rows that need a GPU run only if named. They import no package but theirs, which may be all that its machine has. */
async function chooseRows(): Promise<Row[]> {
  if (values.rows === "webgpu") return (await import("./rows/webgpu.ts")).webgpuRows(size);
  const rows = values.gpu ? [gpu] : (await import("./rows.ts")).ROWS;
  const known = new Set(rows.map(({ number }) => String(number)));
  const named = new Set(values.rows?.split(",").map((name) => name.trim()) ?? known);
  const [unknown] = [...named].filter((name) => !known.has(name));
  if (unknown === undefined) return rows.filter(({ number }) => named.has(String(number)));
  console.error(
    `kit: There is no row "${unknown}". Name some of ${[...known].join(",")}, or webgpu alone.`,
  );
  process.exit(2);
}

/** Measures concurrently; outcomes are in the order of the rows. */
async function measureAll(rows: Row[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = rows.entries();
  const measureNext = async () => {
    for (const [index, row] of waiting) outcomes[index] = await measure(row);
  };
  await Promise.all(Array.from({ length: ROWS_AT_ONCE[size] }, measureNext));
  return outcomes;
}

async function measure(row: Row): Promise<Outcome> {
  const name = `${row.number}. ${row.work}`;
  const start = performance.now();
  console.error(`${name} …`);
  try {
    const lines = await inScope(size, ROW_LIMIT_MS, (scope) => row.measure(scope));
    return { row, lines };
  } catch (error) {
    console.error(error);
    return { row, lines: [], error: error instanceof Error ? error.message : String(error) };
  } finally {
    console.error(`${name}: ${secondsSince(start)} s`);
  }
}

function secondsSince(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
