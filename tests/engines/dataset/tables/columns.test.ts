import { expect, it } from "vitest";
import { ROW_FORM } from "../../../../engines/dataset/row.ts";
import {
  type Columns,
  formOf,
  mapRow,
  neededColumns,
} from "../../../../engines/dataset/tables/columns.ts";

function map(value: Record<string, unknown>, columns?: Columns) {
  return mapRow(value, "a.csv:2", columns);
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
  expect(() => ROW_FORM.parse(row, "a.parquet, row 2")).toThrow(
    'a.parquet, row 2: a "prompt" without a "completion".',
  );
});

it("messages and tools in a table that has only text are JSON", () => {
  const messages = JSON.stringify(CHAT);
  expect(map({ messages, tools: "" })).toEqual({ messages: CHAT });
  expect(map({ messages, tools: "[]" })).toEqual({ messages: CHAT, tools: [] });
  expect(map({ chat: messages }, { messages: "chat" })).toEqual({ messages: CHAT });
  expect(() => map({ chat: "[{'role': 'user'}]" }, { messages: "chat" })).toThrow(
    'a.csv:2: column "chat" is not valid JSON at character 3: a quote that is not',
  );
  expect(() => map({ messages, tools: "{" })).toThrow(
    'a.csv:2: column "tools" is not valid JSON at character 2: it ends inside an object. Complete it.',
  );
});

it("ShareGPT's conversations become messages", () => {
  const speakers = {
    ...{ system: "system", human: "user", user: "user", gpt: "assistant", assistant: "assistant" },
    ...{ chatgpt: "assistant", bing: "assistant", bard: "assistant" },
    ...{ tool: "tool", function: "tool" },
  };
  const conversations = Object.keys(speakers).map((from) => ({ from, value: `${from} says` }));
  const messages = Object.entries(speakers).map(([from, role]) => ({
    ...{ role, content: `${from} says` },
  }));
  expect(map({ id: 1, conversations })).toEqual({ messages });
  expect(map({ conversations: JSON.stringify(conversations) })).toEqual({ messages });
});

it("other conversations than ShareGPT's are refused", () => {
  expect(() =>
    map({
      conversations: [
        { from: "human", value: "" },
        { from: "x", value: "" },
      ],
    }),
  ).toThrow(
    'a.csv:2: conversations[1] is from "x", which is none of system, human, user, gpt, assistant, chatgpt, bing, bard, tool, function. Write one of these.',
  );
  expect(() => map({ conversations: [{ from: "constructor", value: "" }] })).toThrow("is none of");
  for (const turn of [CHAT[0], "Hi", { from: "human", value: null }]) {
    expect(() => map({ conversations: [turn] })).toThrow(
      'a.csv:2: conversations[0] needs a "from" and a "value" string. If it has a "role" and a "content" instead, set columns: { messages: "conversations" }.',
    );
  }
  expect(() => map({ conversations: undefined })).toThrow(
    'a.csv:2: "conversations" is not a list. Write a list of {"from":"…","value":"…"}.',
  );
  expect(() => map({ conversations: "Hi" })).toThrow(
    'column "conversations" is not valid JSON at character 1: it begins with Hi.',
  );
  expect(map({ conversations: CHAT }, { messages: "conversations" })).toEqual({ messages: CHAT });
});

it("an answer of ShareGPT that is not to be learned stays one", () => {
  const row = map({
    conversations: [
      { from: "human", value: "Hi" },
      { from: "gpt", value: "Oh", weight: 0 },
    ],
  });
  expect(() => ROW_FORM.parse(row, "a")).toThrow('every answer has the "weight" 0');
});

it("Alpaca's instruction and input become the prompt", () => {
  const instruction = "Add.";
  expect(map({ instruction, input: "1 2", output: "3" })).toEqual({
    ...{ prompt: "Add.\n\n1 2", completion: "3" },
  });
  for (const input of ["", " \n", undefined, null]) {
    expect(map({ instruction, input, output: "3" })).toEqual({ prompt: "Add.", completion: "3" });
  }
  expect(map({ instruction, output: "3" })).toEqual({ prompt: "Add.", completion: "3" });
  expect(() => map({ instruction, input: 1, output: "3" })).toThrow(
    'a.csv:2: column "input" is not text. Write a string in it.',
  );
  expect(() => map({ instruction, output: undefined })).toThrow('column "output" is not text.');
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
    ["output", "input"],
    ["tools"],
  ]) {
    expect(() => formOf(names, "data/a.csv")).toThrow("data/a.csv: Kit cannot tell which columns");
  }
  const many = Array.from({ length: 23 }, (_, index) => `c${index}`);
  expect(() => formOf(many, "a.csv")).toThrow('"c18", "c19" and 3 others.');
  expect(() => formOf(many, "a.csv")).toThrow(expect.objectContaining({ code: "DATASET_INVALID" }));
});

it("says for people which columns are taken", () => {
  const formOfNames = (names: string[], columns?: Columns) => formOf(names, "data/a.csv", columns);
  expect(
    formOfNames(["question", "answer", "id"], { completion: "answer", prompt: "question" }),
  ).toBe("a.csv: columns question → prompt, answer → completion");
  expect(formOfNames(["completion", "id", "prompt"])).toBe("a.csv: columns prompt, completion");
  expect(formOfNames(["text"])).toBe("a.csv: column text");
  expect(formOfNames(["messages", "tools"])).toBe("a.csv: columns messages, tools");
  expect(formOfNames(["id", "conversations"])).toBe("a.csv: ShareGPT conversations → messages");
  expect(formOfNames(["instruction", "input", "output"])).toBe(
    "a.csv: Alpaca instruction, input → prompt, output → completion",
  );
  expect(formOfNames(["instruction", "output"])).toBe(
    "a.csv: Alpaca instruction → prompt, output → completion",
  );
});

it("knows which columns rows are made of", () => {
  const all = ["id", "q", "input", "instruction", "output", "conversations"];
  expect(neededColumns(all, "a", { prompt: "q", completion: "output" })).toEqual(["q", "output"]);
  expect(neededColumns(all, "a")).toEqual(["conversations"]);
  expect(neededColumns(all.slice(0, -1), "a")).toEqual(["instruction", "input", "output"]);
  expect(neededColumns(["instruction", "output", "id"], "a")).toEqual(["instruction", "output"]);
  expect(neededColumns(["tools", "messages", "id"], "a")).toEqual(["messages", "tools"]);
  expect(() => neededColumns(["id"], "a")).toThrow("a: Kit cannot tell which columns");
});

it("ShareGPT's and Alpaca's system is the first message; earlier turns are not dropped", () => {
  const conversations = [
    { from: "human", value: "Hi" },
    { from: "gpt", value: "Oh" },
  ];
  const answered = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Oh" },
  ];
  const system = { role: "system", content: "Be kind." };
  const named = { system: "Be kind." };
  expect(map({ conversations, ...named })).toEqual({ messages: [system, ...answered] });
  expect(map({ conversations, system: " " })).toEqual({ messages: answered });
  expect(map({ conversations, tools: "[{}]" })).toEqual({ messages: answered, tools: [{}] });
  const alpaca = { instruction: "Hi", output: "Oh", text: "### Hi Oh" };
  expect(map({ ...alpaca, ...named })).toEqual({ messages: [system, ...answered] });
  expect(map({ ...alpaca, history: [] })).toEqual({ prompt: "Hi", completion: "Oh" });
  expect(() => map({ ...alpaca, history: [["a", "b"]] })).toThrow('column "history" has earlier');
  expect(() => map({ conversations, system: 1 })).toThrow('column "system" is not text');
});
