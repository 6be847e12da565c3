import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratchDirectory } from "../embedded/scratch.ts";
import { refusalOf } from "./materialized.ts";

test.each([
  [["a.jsonl", "b.jsonl", "notes.md"], "Name the files in it: FILE/*.jsonl."],
  [["a.csv", "b.CSV", "c.csv", "readme.json"], "Name the files in it: FILE/*.csv."],
  [["a.jsonl.gz"], "Name the files in it: FILE/*.jsonl.gz."],
  [["train/a.parquet", "test/b.parquet"], "Name the files in it: FILE/**/*.parquet."],
  [
    ["dataset_info.json", "state.json", "data-00000-of-00001.arrow"],
    'Save its rows as Parquet: datasets.load_from_disk("FILE").to_parquet("rows.parquet").',
  ],
  [["dataset_infos.json", "notes.md"], "Check its path."],
  [[], "Check its path."],
])("a folder of %j is told which files to name", async (names, advice) => {
  const folder = join(scratchDirectory(), "data");
  mkdirSync(folder);
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "");
  }
  expect(await refusalOf(folder)).toBe(
    `Cannot read the dataset FILE: it is a folder, not a file. ${advice}`,
  );
});
