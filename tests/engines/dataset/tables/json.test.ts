import { truncateSync } from "node:fs";
import { expect, it } from "vitest";
import { placesOf, refusal, rowsOf, table } from "./tables.ts";

it("reads the rows of an array, also after a byte order mark", async () => {
  const rows = [{ text: "é" }, { messages: [{ role: "user", content: null }] }];
  for (const text of [JSON.stringify(rows), `\ufeff${JSON.stringify(rows, null, 2)}\n`]) {
    const path = table("a.json", text);
    expect(await rowsOf(path)).toEqual(rows);
    expect(await placesOf(path)).toEqual(["a.json, row 1", "a.json, row 2"]);
  }
  expect(await rowsOf(table("a.json", "[]"))).toEqual([]);
});

it("what is not an array of objects is refused", async () => {
  const array = "Write one array, [{…}, {…}], with a row in each object.";
  expect(await refusal(table("a.json", '{"data":[]}'))).toBe(
    `DATASET_INVALID a.json: not an array of rows. ${array}`,
  );
  expect(await refusal(table("a.json", '{\n"text":"x"}\n'))).toBe(
    `DATASET_INVALID a.json: not an array of rows. ${array}`,
  );
  expect(await refusal(table("a.json", '[{}, ["x"]]'))).toBe(
    "DATASET_INVALID a.json, row 2: not a JSON object. Write each row as an object.",
  );
});

it("bad JSON is refused with its line, an empty file and Latin-1 with what they are", async () => {
  expect(await refusal(table("a.json", '[{"a":1},\n{"a":2}\n{"a":3}]'))).toBe(
    "DATASET_INVALID a.json:3:1: not valid JSON: a comma is missing. Write one before this.",
  );
  expect(await refusal(table("a.json", '[{"a":1},\n'))).toMatch(
    /^DATASET_INVALID a.json:2:1: not valid JSON: it ends inside a list. Complete it.$/,
  );
  expect(await refusal(table("a.json", " \n"))).toBe(
    "DATASET_INVALID a.json: the file is empty. Write one array of rows in it.",
  );
  expect(await refusal(table("a.json", Buffer.from('["é"]', "latin1")))).toBe(
    "DATASET_INVALID a.json: not UTF-8. Save the file as UTF-8.",
  );
});

it("JSONL in a .json file is told its name", async () => {
  for (const text of [
    '{"text":"a"}\n{"text":"b"}\n',
    '\n{"text":"a"}\r\n\r\n{"text":"b"',
    '{"a":1}\n{oops',
  ]) {
    expect(await refusal(table("a.json", text))).toBe(
      'DATASET_INVALID a.json: this is JSONL, with a JSON object on each line. Name it .jsonl, or set type: "jsonl".',
    );
  }
});

it("a file that is too large to parse at once is told to become JSONL", async () => {
  const path = table("rows.json", "[]");
  truncateSync(path, 256 * 2 ** 20 + 1);
  expect(await refusal(path)).toBe(
    "DATASET_INVALID rows.json: more than 256 MiB, too much for a single JSON array. Convert it to JSONL: jq -c '.[]' rows.json > rows.jsonl",
  );
});
