import { expect, it } from "vitest";
import type { Columns } from "../../../../engines/dataset/records/fields.ts";
import { recordForm } from "../../../../engines/dataset/records/recordForm.ts";
import { ROW_FORM } from "../../../../engines/dataset/row.ts";

function formOf(names: string[], where: string, columns?: Columns) {
  return recordForm(names, where, { columns })!;
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
    'a.csv:2: conversations[1] has the role "x": write system, developer, user, assistant or tool.',
  );
  expect(() => map({ conversations: [{ from: "constructor", value: "" }] })).toThrow(
    "has the role",
  );
  for (const turn of [{ from: "human" }, { value: "Hi" }, { from: "human", value: null }]) {
    expect(() => map({ conversations: [turn] })).toThrow(
      'a.csv:2: conversations[0] needs a "from" and a "value" string.',
    );
  }
  expect(() => map({ conversations: ["Hi"] })).toThrow('conversations[0] needs a "role" (system,');
  expect(() => map({ conversations: undefined })).toThrow(
    'a.csv:2: "conversations" is not a list. Write a list of {"role":"…","content":"…"}.',
  );
  expect(() => map({ conversations: "Hi" })).toThrow(
    'column "conversations" is not valid JSON at character 1: it begins with Hi.',
  );
  expect(map({ conversations: CHAT }, { messages: "conversations" })).toEqual({ messages: CHAT });
  expect(map({ conversations: CHAT })).toEqual({ messages: CHAT });
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

it("says for people which columns are taken", () => {
  const formOfNames = (names: string[], columns?: Columns) =>
    formOf(names, "data/a.csv", columns).told;
  expect(
    formOfNames(["question", "answer", "id"], { completion: "answer", prompt: "question" }),
  ).toBe("columns question → prompt, answer → completion");
  expect(formOfNames(["chat", "system", "tools"], { messages: "chat" })).toBe(
    "columns chat → messages, tools, system",
  );
  for (const names of [["completion", "id", "prompt"], ["text"], ["messages", "tools"]]) {
    expect(formOfNames(names)).toBeUndefined();
  }
  expect(formOfNames(["id", "conversations"])).toBe("ShareGPT conversations → messages");
  expect(formOfNames(["instruction", "input", "output"])).toBe(
    "Alpaca instruction, input → prompt, output → completion",
  );
  expect(formOfNames(["instruction", "output"])).toBe(
    "Alpaca instruction → prompt, output → completion",
  );
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

it("tools and the system's text are read beside any question, the turns before it, too", () => {
  const conversations = [
    { from: "human", value: "Hi" },
    { from: "gpt", value: "Oh" },
  ];
  const messages = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Oh" },
  ];
  const system = "Be kind.";
  expect(map({ conversations, system })).toEqual({ messages, system });
  expect(map({ conversations, tools: '[{"name":"f"}]' })).toEqual({
    messages,
    tools: [{ type: "function", function: { name: "f" } }],
  });
  const alpaca = { instruction: "Hi", output: "Oh", text: "### Hi Oh" };
  expect(map({ ...alpaca, system })).toEqual({ prompt: "Hi", completion: "Oh", system });
  expect(map({ q: "Hi", a: "Oh", system }, { prompt: "q", completion: "a" })).toEqual({
    ...{ prompt: "Hi", completion: "Oh", system },
  });
  for (const history of [[], null, ""]) {
    expect(map({ ...alpaca, history })).toEqual({ prompt: "Hi", completion: "Oh" });
  }
  const earlier = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ];
  for (const history of [[["a", "b"]], '[["a", "b"]]']) {
    expect(map({ ...alpaca, history })).toEqual({ messages: [...earlier, ...messages] });
  }
  for (const history of [["a", "b"], [["a"]], { a: "b" }, [["a", 1]]]) {
    expect(() => map({ ...alpaca, history })).toThrow(
      'a.csv:2: column "history" is not a list of [question, answer]. Write one.',
    );
  }
});
