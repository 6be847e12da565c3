import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typeOfFile } from "../../../../protocol/dataset.ts";
import { spawnModule } from "../../../process.ts";
import { scratchDirectory } from "../../embedded/scratch.ts";
import { fixture } from "./tables.ts";

/** More text than any of these heaps. */
const ROWS = 100_000;

/** Counts the rows in a process whose heap cannot hold them, and says the most memory that it had, in MiB. */
const COUNT = `
const { readTable } = await dist("engines/dataset/tables/tables.js");
const [type, path] = process.argv.slice(1);
let rows = 0;
let last;
for await (const { value, where } of readTable(type, path)) {
  if (value.completion.length !== 500) throw new Error(where);
  last = where;
  rows++;
}
console.log(JSON.stringify({ rows, last, MiB: peakMemory() / 1024 }));
`;

async function count(path: string): Promise<{ rows: number; last: string; MiB: number }> {
  const node = spawnModule(
    COUNT,
    [typeOfFile(path), path],
    "export NODE_OPTIONS=--max-old-space-size=32",
  );
  const ended = once(node.child, "exit");
  const counted = JSON.parse(await node.line()) as Awaited<ReturnType<typeof count>>;
  await ended;
  return counted;
}

it("a Parquet file of many row groups is read in the memory of one", async () => {
  const path = fixture("large.parquet");
  const { rows, last, MiB } = await count(path);
  expect({ rows, last }).toEqual({ rows: ROWS, last: `${path}, row ${ROWS}` });
  expect(MiB).toBeLessThan(250);
});

it("a CSV file is read in the same memory, however large it is", async () => {
  const path = join(scratchDirectory(), "large.csv");
  const file = openSync(path, "w");
  writeSync(file, "prompt,completion\n");
  const part = `question,${"an answer ".repeat(50)}\n`.repeat(ROWS / 100);
  for (let left = 100; left > 0; left--) writeSync(file, part);
  closeSync(file);
  const { rows, last, MiB } = await count(path);
  expect({ rows, last }).toEqual({ rows: ROWS, last: `${path}:${ROWS + 1}` });
  expect(MiB).toBeLessThan(150);
});

it("rows of code are materialized in the same memory, however many they are", async () => {
  const path = join(scratchDirectory(), "data.jsonl");
  const node = spawnModule(
    `
const { materializeDataset } = await dist("engines/dataset/materialize.js");
const { sft } = await dist("engines/objectives/sft.js");
async function* rows() {
  for (let n = 0; n < ${ROWS}; n++) yield { prompt: "question " + n, completion: "an answer".repeat(50) };
}
const options = { name: "dataset", format: sft.format, onNote() {} };
await materializeDataset({ type: "code", path: [] }, { rows }, process.argv[1], options);
console.log("materialized");
`,
    [path],
    "export NODE_OPTIONS=--max-old-space-size=20",
  );
  const ended = once(node.child, "exit");
  expect(await node.line()).toBe("materialized");
  await ended;
});
