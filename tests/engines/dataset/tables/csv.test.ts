import { closeSync, openSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { readTable } from "../../../../engines/dataset/tables/tables.ts";
import { fixture, placesOf, refusal, renamed, rowsOf, table } from "./tables.ts";

it("reads what Python's csv writes for Excel: a byte order mark, CRLF, quotes and line breaks in a cell", async () => {
  expect(await rowsOf(fixture("excel.csv"))).toEqual([
    { prompt: 'A "quoted"\r\nline, é', completion: "" },
    { prompt: "What is 0?", completion: "even" },
    { prompt: "What is 1?", completion: "odd" },
  ]);
});

it("a row is on the line where it begins, whatever line breaks and blank lines are before it", async () => {
  expect(await placesOf(fixture("excel.csv"))).toEqual([
    ...["excel.csv:2", "excel.csv:4", "excel.csv:5"],
  ]);
  const path = table("a.csv", '\n"a\nb",c\n\n"\n",1\n\n\n2,3');
  expect(await placesOf(path)).toEqual(["a.csv:5", "a.csv:9"]);
  expect(await rowsOf(path)).toEqual([
    { "a\nb": "\n", c: "1" },
    { "a\nb": "2", c: "3" },
  ]);
});

it("takes line breaks of every system, also mixed", async () => {
  for (const text of [
    "a,b\r\n1,2\r\n3,4\r\n",
    "a,b\n1,2\n3,4",
    "a,b\r1,2\r3,4\r",
    "a,b\r\n1,2\n3,4",
  ]) {
    expect(await rowsOf(table("a.csv", text))).toEqual([
      { a: "1", b: "2" },
      { a: "3", b: "4" },
    ]);
  }
});

it("finds commas, semicolons, tabs and vertical bars by the header alone", async () => {
  expect(await rowsOf(fixture("pandas.csv"))).toContainEqual({
    ...{ question: "What is 2?", answer: "even", count: "2" },
  });
  expect(await rowsOf(table("a.csv", '"a,b,c";d\n1;2,2,2\n'))).toEqual([
    { "a,b,c": "1", d: "2,2,2" },
  ]);
  expect(await rowsOf(table("a.csv", "a\tb\n1,1\t2,2,2\n"))).toEqual([{ a: "1,1", b: "2,2,2" }]);
  expect(await rowsOf(table("a.csv", "a|b\n1,1|2,2\n"))).toEqual([{ a: "1,1", b: "2,2" }]);
  expect(await rowsOf(table("a.csv", "\n\ta\n0\t1\n"))).toEqual([{ "": "0", a: "1" }]);
  expect(await rowsOf(table("a.csv", "text\na; b; c\n"))).toEqual([{ text: "a; b; c" }]);
});

it("a .tsv has tabs, even between no columns", async () => {
  expect(await rowsOf(fixture("excel.tsv"))).toEqual([{ prompt: "a, b", completion: "c; d" }]);
  expect(await rowsOf(table("a.tsv", "text, with a comma\na, b, c\n"))).toEqual([
    { "text, with a comma": "a, b, c" },
  ]);
  expect(await refusal(renamed("excel.tsv", "a.csv"))).toBe("none");
});

it("a header without rows has none; a file without a header is refused", async () => {
  expect(await rowsOf(table("a.csv", "a,b\n"))).toEqual([]);
  const advice = "the file is empty. Write the names of the columns on its first line.";
  for (const text of ["", "\n\n", "\ufeff"]) {
    expect(await refusal(table("a.csv", text))).toBe(`DATASET_INVALID a.csv:1: ${advice}`);
  }
});

it("text that is not UTF-8 is refused with its line", async () => {
  const advice = "not UTF-8. Save the file as UTF-8.";
  const latin1 = Buffer.from("a,b\n1,2\ncafé,3\n4,5\n", "latin1");
  expect(await refusal(table("a.csv", latin1))).toBe(`DATASET_INVALID a.csv:3: ${advice}`);
  const cut = Buffer.from("a\né").subarray(0, -1);
  expect(await refusal(table("a.csv", cut))).toBe(`DATASET_INVALID a.csv:2: ${advice}`);
});

it("a character may lie across two reads of the file", async () => {
  const rows = Array.from(
    { length: 4 },
    (_, offset) => `${"x".repeat(offset)}${"€😀é".repeat(30_000)}`,
  );
  for (const row of rows) {
    expect(await rowsOf(table("a.csv", `text\n${row}\n`))).toEqual([{ text: row }]);
  }
});

it("a row with more or fewer cells than the header is refused with both numbers", async () => {
  expect(await refusal(table("a.csv", "a,b\n1,2\n\n1,2,3\n"))).toBe(
    "DATASET_INVALID a.csv:4: the row has 3 cells, but the header has 2 columns. Put quotes around a cell that has a comma or a line break.",
  );
  expect(await refusal(table("a.csv", "a;b\n1\n"))).toBe(
    "DATASET_INVALID a.csv:2: the row has 1 cell, but the header has 2 columns. Put quotes around a cell that has a semicolon or a line break.",
  );
});

it("a first line sep= names the delimiter, as Excel reads and writes it", async () => {
  for (const first of ["sep=;", "\ufeffSep=;", '"sep=;"']) {
    const path = table("a.csv", `${first}\r\na,b;c\r\n1,1;2\r\n`);
    expect(await rowsOf(path)).toEqual([{ "a,b": "1,1", c: "2" }]);
    expect(await placesOf(path)).toEqual(["a.csv:3"]);
  }
  expect(await rowsOf(table("a.csv", "sep=#\na#b\n1#2"))).toEqual([{ a: "1", b: "2" }]);
  expect(await refusal(table("a.csv", "sep=;"))).toMatch("a.csv:1: the file is empty.");
});

it("columns and rows that a spreadsheet saved empty are none", async () => {
  const path = table("a.csv", "a,b,,\r\n1,2,,\r\n,,,\r\n3,,,\r\n,,,\r\n,,,\r\n");
  expect(await rowsOf(path)).toEqual([
    { a: "1", b: "2" },
    { a: "3", b: "" },
  ]);
  expect(await placesOf(path)).toEqual(["a.csv:2", "a.csv:4"]);
  expect(await refusal(table("a.csv", "a,b,,\n1,2,,x\n"))).toMatch(
    "a.csv:2: the row has 4 cells, but the header has 2 columns.",
  );
  expect(await rowsOf(table("a.csv", "text\n \n"))).toEqual([{ text: " " }]);
});

it("a header of many names takes no longer for each", async () => {
  const names = Array.from({ length: 60_000 }, (_, at) => `column${at}`);
  const path = table("a.csv", `${names.join(",")}\n${names.map(() => "1").join(",")}\n`);
  expect(Object.keys((await rowsOf(path))[0] ?? {})).toHaveLength(60_000);
});

it("a quote that never closes, or that is not written twice, is refused with the line of its row", async () => {
  const double = 'Write "" for each quote inside a quoted cell.';
  expect(await refusal(table("a.csv", 'a,b\n1,2\n"3,4\n5,6\n'))).toBe(
    `DATASET_INVALID a.csv:3: a quote in this row never closes. Close it. ${double}`,
  );
  expect(await refusal(table("a.csv", 'a,b\n1,2\n\n"a "b" c",4\n'))).toBe(
    `DATASET_INVALID a.csv:4: a quoted cell of this row continues after its closing quote. ${double}`,
  );
  expect(await refusal(table("a.csv", 'a,b\n5" wide,2\n'))).toBe(
    `DATASET_INVALID a.csv:2: a cell of this row has a quote in it, but does not begin with one. Put the whole cell in quotes. ${double}`,
  );
});

it("a quote that never closes does not take the whole of a large file into memory", async () => {
  const path = table("a.csv", `a\n"${"x".repeat(66 * 2 ** 20)}`);
  expect(await refusal(path)).toBe(
    'DATASET_INVALID a.csv:2: the row has more than 64 MiB, or a quote in it never closes. Write "" for each quote inside a quoted cell.',
  );
});

it("two columns of the same name are refused, as are two without a name", async () => {
  expect(await refusal(table("a.csv", "a,b, a\n"))).toBe(
    'DATASET_INVALID a.csv:1: two columns named "a". Give each column a name of its own.',
  );
  expect(await refusal(table("a.csv", "a,,,b\n"))).toBe(
    "DATASET_INVALID a.csv:1: two columns without a name. Give each column a name of its own.",
  );
  expect(await rowsOf(table("a.csv", ",a,__proto__\n0,1,2\n"))).toEqual([
    Object.fromEntries([
      ["", "0"],
      ["a", "1"],
      ["__proto__", "2"],
    ]),
  ]);
});

it("closes the file when the reader stops early", async () => {
  const path = table("a.csv", `text\n${"row\n".repeat(100_000)}`);
  for await (const { value } of readTable("csv", path)) {
    expect(value).toEqual({ text: "row" });
    break;
  }
  const open = () => readdirSync("/proc/self/fd").length;
  const file = openSync(path, "r");
  const before = open();
  closeSync(file);
  for (let left = 3; left > 0; left--) {
    for await (const { where } of readTable("csv", path)) {
      expect(where).toBe(`${path}:2`);
      break;
    }
  }
  await expect.poll(open).toBeLessThan(before);
});
