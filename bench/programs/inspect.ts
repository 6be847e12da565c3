// Reads the rows of a file as a training does, and as `kit check` does, in turn.
//   inspect.js <file> <runs>
// Prints JSON: the milliseconds of both.
import { sft } from "../../engines/objectives/sft.ts";
import { createInspection } from "../../engines/training/inspection.ts";
import { readDataset } from "../../engines/training/tokenizedDataset.ts";
import { alternate, time } from "../statistics.ts";

const MOST_TOKENS = 1024;
const [path = "", runs] = process.argv.slice(2);

function read(): void {
  readDataset(path, MOST_TOKENS);
}

function inspect(): void {
  const { see, report } = createInspection(sft.form);
  readDataset(path, MOST_TOKENS, { onRow: (row) => see(row, false) });
  report();
}

console.log(
  JSON.stringify(
    await alternate({ ours: () => time(inspect), baseline: () => time(read) }, Number(runs)),
  ),
);
