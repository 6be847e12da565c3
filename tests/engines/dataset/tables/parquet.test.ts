import { readFileSync, statSync } from "node:fs";
import { expect, it } from "vitest";
import { readTable } from "../../../../engines/dataset/tables/tables.ts";
import { WholeFloat, mapValues, stringifyJson } from "../../../../protocol/json.ts";
import { changed, fixture, placesOf, refusal, rowsOf, table } from "./tables.ts";

/** What `fixtures/make.py` has as QA. */
const QUESTIONS = Array.from({ length: 40 }, (_, count) => ({
  question: `What is ${count}?`,
  answer: count % 2 === 0 ? "even" : "odd",
  count,
}));

it("a list of structs becomes objects in an array, in which keys without a value are null", async () => {
  expect(await rowsOf(fixture("nested.parquet"))).toStrictEqual([
    {
      messages: [
        { role: "user", content: "Hi é", tool_calls: null },
        { role: "assistant", content: null, tool_calls: [{ name: "f", id: 1 }] },
      ],
    },
    { messages: [] },
    { messages: undefined },
    { messages: [{ role: "user", content: "", tool_calls: [] }] },
  ]);
});

it.each(["snappy", "gzip", "zstd", "brotli", "lz4"])("reads a dictionary and %s", async (codec) => {
  expect(await rowsOf(fixture(`${codec}.parquet`))).toEqual(QUESTIONS);
});

it.each(["plain", "v2", "delta", "pandas"])("reads what is written as %s", async (name) => {
  expect(await rowsOf(fixture(`${name}.parquet`))).toEqual(QUESTIONS);
});

it("rows are counted over the row groups, of which there may be none", async () => {
  const places = await placesOf(fixture("plain.parquet"));
  expect(places).toEqual(QUESTIONS.map((_, index) => `plain.parquet, row ${index + 1}`));
  expect(await rowsOf(fixture("empty.parquet"))).toEqual([]);
});

it.each(["types", "spark"])("%s become what pyarrow reads, in JSON", async (name) => {
  const rows = await rowsOf(fixture(`${name}.parquet`));
  const lines = rows.map((row) => stringifyJson(mapValues(row, (value) => value ?? null)));
  expect(lines).toEqual(
    readFileSync(fixture(`${name}.jsonl`), "utf8")
      .trimEnd()
      .split("\n"),
  );
});

it("values become what JSON has; a column without a value keeps its name", async () => {
  const moment = "2024-02-29T12:30:00+00:00";
  const day = "2024-02-29";
  expect(await rowsOf(fixture("values.parquet"))).toStrictEqual([
    { text: "a", count: 1, share: 0.5, yes: true, moment, day, names: ["a", null] },
    {
      ...{ text: undefined, count: 2 ** 53 - 1, share: undefined, yes: undefined },
      ...{ moment: undefined, day: undefined, names: [] },
    },
    {
      text: "c",
      count: undefined,
      share: new WholeFloat(2),
      yes: false,
      moment,
      day,
      names: undefined,
    },
  ]);
});

it("bytes are refused with row and column", async () => {
  expect(await refusal(fixture("binary.parquet"))).toBe(
    'DATASET_INVALID binary.parquet, row 2: column "image" is binary, or text that is not UTF-8. Save it as UTF-8 text, or remove it.',
  );
  expect(await refusal(fixture("notUtf8.parquet"))).toMatch(
    /row 2: column "text" is binary, or text/,
  );
});

it("columns that nobody needs may have anything", async () => {
  const texts: unknown[] = [];
  for await (const { value } of readTable("parquet", fixture("binary.parquet"), ["text"])) {
    texts.push(value);
  }
  expect(texts).toStrictEqual([{ text: "a" }, { text: "b" }]);
  const messages: unknown[] = [];
  for await (const { value } of readTable("parquet", fixture("nested.parquet"), ["messages"])) {
    messages.push(value);
  }
  expect(messages).toHaveLength(4);
});

it("two columns of the same name are refused", async () => {
  expect(await refusal(fixture("twice.parquet"))).toBe(
    'DATASET_INVALID twice.parquet: two columns named "text". Give each column a name of its own.',
  );
});

it.each(["encrypted.parquet", "encryptedColumn.parquet"])("%s is refused", async (name) => {
  expect(await refusal(fixture(name))).toBe(
    `DATASET_INVALID ${name}: the file is encrypted. Save it again without encryption.`,
  );
});

it("a file that ends too early, or isn't Parquet, is refused", async () => {
  const end =
    /^DATASET_INVALID \S+: the file is damaged or not Parquet \(its end is missing\). Export it again.$/;
  for (const length of [0, 4, 7, 8, 500, 1000]) {
    expect(await refusal(changed("snappy.parquet", (bytes) => bytes.subarray(0, length)))).toMatch(
      end,
    );
  }
  expect(await refusal(table("a.parquet", "PAR1PAR1"))).toMatch("(its metadata is truncated)");
  expect(await refusal(table("a.parquet", "question,answer\n"))).toBe(
    "DATASET_INVALID a.parquet: not Parquet. Name it by what it is, such as .jsonl or .csv.",
  );
  expect(await refusal(table("a.parquet", "version https://git-lfs.github.com/spec/v1\n"))).toBe(
    "DATASET_INVALID a.parquet: the file is a pointer of Git LFS, not the data. Download the data with git lfs pull.",
  );
});

it("damage within a file is refused: in the metadata, a page, or between them", async () => {
  const damaged =
    /^DATASET_INVALID \S+: the file is damaged or not Parquet \(.+\). Export it again.$/;
  for (const codec of ["snappy", "gzip", "zstd"]) {
    // The first page's content.
    const page = changed(`${codec}.parquet`, (bytes) => bytes.fill(0xff, 30, 60));
    expect(await refusal(page)).toMatch(damaged);
    const metadata = changed(`${codec}.parquet`, (bytes) =>
      bytes.fill(0xff, bytes.length - 200, bytes.length - 100),
    );
    expect(await refusal(metadata)).toMatch(damaged);
    const shorter = changed(`${codec}.parquet`, (bytes) =>
      Buffer.concat([bytes.subarray(0, 40), bytes.subarray(300)]),
    );
    expect(await refusal(shorter)).toMatch(damaged);
  }
  const long = changed("snappy.parquet", (bytes) => {
    bytes.writeUInt32LE(bytes.length, bytes.length - 8);
    return bytes;
  });
  expect(await refusal(long)).toMatch(damaged);
});

it("no damage is told in the library's words", async () => {
  const told: string[] = [];
  for (let at = 0; at < 400; at += 7) {
    const path = changed("snappy.parquet", (bytes) => {
      const end = bytes.length - 8;
      return at < 200 ? bytes.fill(0x3f, end - at - 1, end - at) : bytes.fill(0, end - at, end);
    });
    told.push(await refusal(path));
  }
  expect(told.filter((text) => /undefined|function|field_|DataView/.test(text))).toEqual([]);
});

it("a column that has fewer values than there are rows is refused", async () => {
  // The row group's count of rows, before its total of bytes.
  const more = changed("nested.parquet", (bytes) => bytes.fill(2 * 5, 1026, 1027));
  expect(await refusal(more)).toMatch(
    '(column "messages" has 4 values for 5 rows). Export it again.',
  );
});

it("damage of which the library never ends, or which it throws when nobody waits, is refused", async () => {
  const endless = changed("v2.parquet", (bytes) => bytes.fill(0x05, 280, 281));
  expect(await refusal(endless)).toMatch("(a page has wrong sizes). Export it again.");
  const unknown = changed("snappy.parquet", (bytes) => {
    // In the row group; the schema's comes before.
    const at = bytes.lastIndexOf("answer");
    return bytes.fill("others", at, at + 6);
  });
  expect(await refusal(unknown)).toMatch("(a row group has other columns). Export it again.");
});

it("metadata, a row group or values that would take too much memory are refused", async () => {
  const metadata = changed("snappy.parquet", (bytes) => {
    bytes.writeUInt32LE(2 ** 24 + 1, bytes.length - 8);
    return Buffer.concat([bytes.subarray(0, 4), Buffer.alloc(2 ** 24), bytes]);
  });
  expect(await refusal(metadata)).toBe(
    "DATASET_INVALID snappy.parquet: the metadata exceeds 16 MiB. Write larger row groups.",
  );
  const smaller =
    "Write smaller row groups, for example with row_group_size=10_000 in pandas or pyarrow.";
  expect(await refusal(fixture("many.parquet"))).toBe(
    `DATASET_INVALID many.parquet: row group 1 has 33,554,433 values, and Kit reads at most 33,554,432 at once. ${smaller}`,
  );
  expect(await refusal(fixture("huge.parquet"))).toBe(
    `DATASET_INVALID huge.parquet: row group 1 has 1.1 GiB uncompressed, and Kit reads at most 1 GiB at once. ${smaller}`,
  );
});

it("a text that a small file has again and again does not fill the disk", async () => {
  const file = fixture("again.parquet");
  expect(await refusal(file)).toBe(
    "DATASET_INVALID again.parquet: its texts expand to more than 1,000 times the file's size. Remove repeated rows.",
  );
  let bytes = 0;
  const reading = async () => {
    for await (const { value } of readTable("parquet", file)) bytes += String(value.text).length;
  };
  await expect(reading()).rejects.toThrow();
  expect(bytes).toBeLessThan(2 ** 26 + 1_000 * statSync(file).size);
});
