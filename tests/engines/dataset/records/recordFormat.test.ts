import { expect, it } from "vitest";
import type { Columns } from "../../../../engines/dataset/records/fields.ts";
import { recordFormat } from "../../../../engines/dataset/records/recordFormat.ts";
import { ROW_FORMAT } from "../../../../engines/dataset/row.ts";

function formOf(names: string[], where: string, columns?: Columns) {
  return recordFormat(names, where, { columns })!;
}

function map(value: Record<string, unknown>, columns?: Columns) {
  return formOf(Object.keys(value), "a.csv:2", columns).rowOf(value, "a.csv:2");
}

const CHAT = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: "Hello" },
];

it("takes the columns that are asked for, and no others", () => {
  const value = { question: "Q", answer: "A", text: "T", id: "1" };
  expect(map(value, { prompt: "question", completion: "answer" })).toEqual({
    ...{ prompt: "Q", completion: "A" },
  });
  expect(map(value, { text: "answer" })).toEqual({ text: "A" });
  expect(map({ chat: CHAT, f: [] }, { messages: "chat", tools: "f" })).toEqual({
    ...{ messages: CHAT, tools: [] },
  });
});

it("takes the columns that are named as the parts of a row, messages before a prompt before a text", () => {
  const value = { id: 1, text: "T", completion: "C", prompt: "P" };
  expect(map(value)).toEqual({ prompt: "P", completion: "C" });
  expect(map({ ...value, messages: CHAT, tools: [] })).toEqual({ messages: CHAT, tools: [] });
  expect(map({ prompt: "P", text: "T" })).toEqual({ text: "T" });
});

it("a row that misses a value is for parseRow to refuse", () => {
  const row = map({ prompt: "P", completion: undefined });
  expect(() => ROW_FORMAT.parse(row, "a.parquet, row 2")).toThrow(
    'a.parquet, row 2: a "prompt" without a "completion".',
  );
});

it("a column that is not there is refused with those that are", () => {
  expect(() => map({ id: "1", q: "Q" }, { prompt: "question", completion: "q" })).toThrow(
    'a.csv:2: no column "question". Set columns.prompt to one of "id", "q".',
  );
  const example = '{ prompt: "question", completion: "answer" }';
  expect(() => map({ id: "1", q: "Q" })).toThrow(
    `a.csv:2: Kit cannot tell which columns to learn from among "id", "q". Set columns, for example ${example}.`,
  );
  for (const names of [
    ["prompt"],
    ["completion"],
    ["instruction"],
    ["output", "id"],
    ["question", "answer", "response"],
    ["question", "query", "answer"],
    ["tools"],
  ]) {
    expect(() => formOf(names, "data/a.csv")).toThrow("data/a.csv: Kit cannot tell which columns");
  }
  const many = Array.from({ length: 23 }, (_, index) => `c${index}`);
  expect(() => formOf(many, "a.csv")).toThrow('"c18", "c19" and 3 others.');
  expect(() => formOf(many, "a.csv")).toThrow(expect.objectContaining({ code: "DATASET_INVALID" }));
});

it("says for people which columns are taken where their names do not", () => {
  expect(formOf(["chat", "system", "tools"], "a.csv", { messages: "chat" }).summary).toBe(
    "columns chat → messages, tools, system",
  );
  for (const names of [["completion", "id", "prompt"], ["text"], ["messages", "tools"]]) {
    expect(formOf(names, "a.csv").summary).toBeUndefined();
  }
});

it("knows which columns rows are made of", () => {
  const readOf = (names: string[], columns?: Columns) => formOf(names, "a", columns).reads;
  const all = ["id", "q", "input", "instruction", "output", "conversations"];
  expect(readOf(all, { prompt: "q", completion: "output" })).toEqual(["q", "output"]);
  expect(readOf(all)).toEqual(["conversations"]);
  expect(readOf(all.slice(0, -1))).toEqual(["instruction", "input", "output"]);
  expect(readOf(["instruction", "output", "id"])).toEqual(["instruction", "output"]);
  expect(readOf(["tools", "messages", "id"])).toEqual(["messages", "tools"]);
  expect(() => readOf(["id"])).toThrow("a: Kit cannot tell which columns");
});
