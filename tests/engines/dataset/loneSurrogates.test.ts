import { expect, test } from "vitest";
import { scratchFile } from "../embedded/scratch.ts";
import { frozen } from "./materialized.ts";

const GOOD = { text: "\\ud83d is how JSON spells half of 😀" };
const HALVES = [{ text: "\\\ud83d\ud83d" }, { text: "\ude00x" }];
const MENDED = [{ text: "\\\ufffd\ufffd" }, { text: "\ufffdx" }];

function warning(rows: string, first: string): string {
  return `warning: ${rows} of FILE with half a character, such as a truncated emoji, which is learned as U+FFFD (first: ${first}): truncate texts between characters`;
}

test("half a surrogate pair is warned of with the first row, and learned as U+FFFD", async () => {
  const rows = [GOOD, ...HALVES];
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const expected = [GOOD, ...MENDED].map((row) => JSON.stringify(row));
  expect(await frozen(scratchFile("rows.jsonl", lines))).toEqual({
    rows: expected,
    notes: [warning("2 rows", "FILE:2")],
  });
  expect(await frozen(scratchFile("rows.json", JSON.stringify(rows)))).toEqual({
    rows: expected,
    notes: [warning("2 rows", "FILE, row 2")],
  });
  expect(await frozen("rows", { type: "code", path: "" }, { rows: HALVES.slice(1) })).toEqual({
    rows: expected.slice(2),
    notes: [warning("1 row", "FILE, row 1")],
  });
});

test("whole characters, and words about halves, are not", async () => {
  const path = scratchFile("rows.jsonl", JSON.stringify(GOOD));
  expect(await frozen(path)).toEqual({ rows: [JSON.stringify(GOOD)], notes: [] });
});
