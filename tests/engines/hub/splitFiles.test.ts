import { expect, it } from "vitest";
import { splitFiles } from "../../../engines/hub/splitFiles.ts";
import type { HubSplit } from "../../../protocol/dataset.ts";

const filesOf = (names: string[]) => names.map((name) => ({ name, size: 1, hash: "0" }));

function chosen(
  names: string[],
  how: Partial<HubSplit> = {},
  isParquetConversion = false,
): string[] {
  const { files } = splitFiles(filesOf(names), { name: "org/data", ...how }, isParquetConversion);
  return files.map(({ name }) => name);
}

const CONVERTED = [
  ...["main/train/0001.parquet", "main/train/0000.parquet", "main/test/0000.parquet"],
  ...["main/train/index.duckdb", "README.md"],
];
const GSM = [
  ...["main/train-00000-of-00001.parquet", "main/test-00000-of-00001.parquet"],
  ...["socratic/train-00000-of-00001.parquet", "README.md", ".gitattributes"],
];
const SHARDS = ["data/train-00001-of-00002.parquet", "data/train-00000-of-00002.parquet"];

it.each<[string, string[], Partial<HubSplit>, boolean, string[]]>([
  ["the only config", CONVERTED, {}, true, ["main/train/0000.parquet", "main/train/0001.parquet"]],
  ["another split", CONVERTED, { split: "test" }, true, ["main/test/0000.parquet"]],
  ["a config", GSM, { config: "socratic" }, false, ["socratic/train-00000-of-00001.parquet"]],
  ["a config of several", GSM, { config: "main", split: "test" }, false, [GSM[1]!]],
  ["shards in their order", SHARDS, {}, false, SHARDS.toReversed()],
  [
    "a split of its own name",
    ["data/sft-00000-of-00001.parquet", ...SHARDS],
    { split: "sft" },
    false,
    ["data/sft-00000-of-00001.parquet"],
  ],
  ["a file's name", ["train.jsonl", "dev.jsonl", "config.json"], {}, false, ["train.jsonl"]],
  ["what gzip has packed", ["train.jsonl.gz", "dev.jsonl.gz"], {}, false, ["train.jsonl.gz"]],
  [
    "another word for a split",
    ["train.csv", "my_dev_set.csv"],
    { split: "validation" },
    false,
    ["my_dev_set.csv"],
  ],
  ["as the name has it", ["train.csv", "dev.csv"], { split: "dev" }, false, ["dev.csv"]],
  [
    "folders",
    ["train/a.csv", "train/b.csv", "test/a.csv"],
    {},
    false,
    ["train/a.csv", "train/b.csv"],
  ],
  [
    "names that say nothing",
    ["alpaca_data.json", "dataset_infos.json"],
    {},
    false,
    ["alpaca_data.json"],
  ],
  [
    "one kind of several",
    ["train.jsonl", "train.parquet", "train.csv"],
    {},
    false,
    ["train.parquet"],
  ],
])("%s", (_, names, how, isParquetConversion, wanted) => {
  expect(chosen(names, how, isParquetConversion)).toEqual(wanted);
});

it("the hub may keep only the first part", () => {
  const files = filesOf(["default/partial-train/0000.parquet", "default/test/0000.parquet"]);
  expect(splitFiles(files, { name: "a/b" }, true).isPartial).toBe(true);
  expect(splitFiles(files, { name: "a/b", split: "test" }, true).isPartial).toBe(false);
});

it.each<[string[], Partial<HubSplit>, RegExp]>([
  [["README.md", "data.zip"], {}, /^org\/data has no Parquet, JSONL, CSV or JSON file\. Use/],
  [GSM, {}, /^org\/data has several configs\. Set config to one of main, socratic\.$/],
  [GSM, { config: "x" }, /^org\/data has no config "x"\. Set config to one of main, socratic\.$/],
  [
    GSM,
    { config: "main", split: "x" },
    /^org\/data has no split "x"\. Set split to one of train, test\.$/,
  ],
  [["test.csv"], {}, /^org\/data has no split "train"\. Set split to one of test\.$/],
  [
    ["rows.csv"],
    { split: "test" },
    /^org\/data has no split "test"\. Set split to one of train\.$/,
  ],
])("%j with %j is refused", (names, how, message) => {
  expect(() => chosen(names, how)).toThrow(message);
});
