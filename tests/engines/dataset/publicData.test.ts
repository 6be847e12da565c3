import { describe, expect, it, test } from "vitest";
import { LABELLED_FORMAT } from "../../../engines/dataset/labelledAnswer.ts";
import { PAIR_FORMAT } from "../../../engines/dataset/pair.ts";
import type { RowFormat } from "../../../engines/dataset/rowFormat.ts";
import { scratchFile } from "../embedded/scratch.ts";
import { fixture } from "./tables/tables.ts";
import { type Written, refusalOf, written, writtenLines } from "./written.ts";

const SYSTEM = { role: "system", content: "You help." };
const USER = (content: string) => ({ role: "user", content });
const ANSWER = (content: string) => ({ role: "assistant", content });
const CHAT = [USER("Hi"), ANSWER("Hello")];
const HUMAN = { from: "human", value: "Hi" };
const GPT = { from: "gpt", value: "Hello" };
const DISCOUNT = { name: "discount", parameters: { type: "object", properties: { price: {} } } };
const CALL = (args: unknown) => ({
  type: "function",
  function: { name: "discount", arguments: args },
});

const SPEAKERS = {
  ...{ user: "user", chatgpt: "assistant", human: "user", bing: "assistant", tool: "tool" },
  ...{ bard: "assistant", function: "tool", assistant: "assistant" },
};

/** A row in each form, what it becomes, and the line that tells it. */
const FORMS: [name: string, row: object, expected: object, told: string | undefined][] = [
  [
    "ShareGPT",
    { conversations: [{ from: "system", value: "You help." }, HUMAN, GPT] },
    { messages: [SYSTEM, ...CHAT] },
    "ShareGPT conversations → messages",
  ],
  [
    "speakers of other tools",
    { conversations: Object.keys(SPEAKERS).map((from) => ({ from, value: from })) },
    { messages: Object.entries(SPEAKERS).map(([content, role]) => ({ role, content })) },
    "ShareGPT conversations → messages",
  ],
  [
    "conversations with roles",
    { conversations: CHAT },
    { messages: CHAT },
    "ShareGPT conversations → messages",
  ],
  [
    "LLaMA-Factory's calls",
    {
      conversations: [
        HUMAN,
        { from: "function_call", value: '{"name": "discount", "arguments": {"price": 1}}' },
        { from: "observation", value: "80" },
        GPT,
      ],
      system: "You help.",
      tools: JSON.stringify([DISCOUNT]),
    },
    {
      messages: [
        ...[SYSTEM, USER("Hi")],
        { role: "assistant", tool_calls: [CALL({ price: 1 })] },
        { role: "tool", content: "80" },
        ANSWER("Hello"),
      ],
      tools: [{ type: "function", function: DISCOUNT }],
    },
    "ShareGPT conversations → messages",
  ],
  [
    "roles of other tools",
    {
      messages: [
        { role: "human", content: "Hi" },
        { role: "Model", content: "Hello" },
      ],
    },
    { messages: CHAT },
    undefined,
  ],
  [
    "ShareGPT's turns as messages",
    { messages: [HUMAN, { from: "assistant", value: "Hello", weight: 0 }, HUMAN, GPT] },
    { messages: [USER("Hi"), { ...ANSWER("Hello"), weight: 0 }, ...CHAT] },
    undefined,
  ],
  [
    "Alpaca",
    { instruction: "Translate.", input: "Good night", output: "Bonne nuit" },
    { prompt: "Translate.\n\nGood night", completion: "Bonne nuit" },
    "Alpaca instruction, input → prompt, output → completion",
  ],
  [
    "Alpaca whose input is blank",
    { instruction: "Add.", input: " \n", output: "3" },
    { prompt: "Add.", completion: "3" },
    "Alpaca instruction, input → prompt, output → completion",
  ],
  [
    "Alpaca with earlier turns",
    { instruction: "Hi", input: "", output: "Hello", history: [["a", "b"]], system: "You help." },
    { messages: [SYSTEM, USER("a"), ANSWER("b"), ...CHAT] },
    "Alpaca history, instruction, input → prompt, output → completion",
  ],
  [
    "Dolly",
    { instruction: "Who?", context: "Ann did.", response: "Ann", category: "qa" },
    { prompt: "Who?\n\nAnn did.", completion: "Ann" },
    "columns instruction, context → prompt, response → completion",
  ],
  [
    "OpenOrca",
    { id: "1", system_prompt: "You help.", question: "Hi", response: "Hello" },
    { messages: [SYSTEM, ...CHAT] },
    "columns question → prompt, response → completion",
  ],
  ...[
    ["question", "answer"],
    ["input", "output"],
    ["instruction", "response"],
    ["query", "response"],
    ["prompt", "response"],
  ].map(([question, answer]): (typeof FORMS)[number] => [
    `${question} and ${answer}`,
    { [question!]: "Hi", [answer!]: "Hello" },
    { prompt: "Hi", completion: "Hello" },
    `columns ${question} → prompt, ${answer} → completion`,
  ]),
  [
    "Bedrock",
    {
      schemaVersion: "bedrock-conversation-2024",
      system: [{ text: "You help." }],
      messages: [
        { role: "user", content: [{ text: "Hi" }] },
        { role: "assistant", content: [{ text: "Hello" }] },
      ],
    },
    { messages: [SYSTEM, ...CHAT] },
    undefined,
  ],
  [
    "Gemini",
    {
      systemInstruction: { role: "system", parts: [{ text: "You help." }] },
      contents: [
        { role: "user", parts: [{ text: "Hi" }] },
        { role: "model", parts: [{ text: "Hello" }] },
      ],
    },
    { messages: [SYSTEM, ...CHAT] },
    "Gemini contents → messages",
  ],
  [
    "tools as text, and without their wrapping",
    { messages: CHAT, tools: JSON.stringify([JSON.stringify(DISCOUNT), { function: DISCOUNT }]) },
    {
      messages: CHAT,
      tools: [1, 2].map(() => ({ type: "function", function: DISCOUNT })),
    },
    undefined,
  ],
];

describe.each(FORMS)("%s", (name, row, expected, told) => {
  const line = (file: string) => (told === undefined ? [] : [`${file}: ${told}`]);
  const notesOf = ({ notes }: Written) => notes.filter((note) => !note.startsWith("ignoring"));

  it("is a row of JSONL, JSON, CSV and code", async () => {
    const lines = await writtenLines([row, row]);
    expect(lines.rows).toEqual([expected, expected]);
    expect(notesOf(lines)).toEqual(line("data.jsonl"));
    const json = await written({
      type: "json",
      path: scratchFile("data.json", JSON.stringify([row])),
    });
    expect(json.rows).toEqual([expected]);
    expect(notesOf(json)).toEqual(line("data.json"));
    // Nobody has the clouds' forms in tables.
    if (!name.startsWith("Bedrock") && !name.startsWith("Gemini")) {
      const cells = [Object.keys(row), Object.values(row).map(cellOf)];
      const text = cells.map((one) => one.map(quoted).join(",")).join("\n");
      const csv = await written({ type: "csv", path: scratchFile("data.csv", text) });
      expect(csv.rows).toEqual([expected]);
      expect(notesOf(csv)).toEqual(line("data.csv"));
    }
    const code = await written(
      { type: "code", path: [] },
      { code: { rows: [row] as Iterable<never> } },
    );
    expect(code.rows).toEqual([expected]);
    expect(notesOf(code)).toEqual(line("dataset"));
  });
});

/** As a table that has only text has it. */
function cellOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`;
}

test("a JSONL file may mix forms: each line has its own, and each form is told once", async () => {
  const rows = [
    { text: "T" },
    { conversations: [HUMAN, GPT] },
    { messages: CHAT },
    { conversations: [HUMAN, GPT], messages: null },
    { instruction: "Hi", output: "Hello" },
    { instruction: "Hi", input: "there", output: "Hello" },
    { prompt: "Hi", completion: "Hello", id: 1 },
  ];
  const { rows: all, notes } = await writtenLines(rows);
  expect(all).toEqual([
    { text: "T" },
    ...[1, 2, 3].map(() => ({ messages: CHAT })),
    { prompt: "Hi", completion: "Hello" },
    { prompt: "Hi\n\nthere", completion: "Hello" },
    { prompt: "Hi", completion: "Hello" },
  ]);
  expect(notes).toEqual([
    "data.jsonl: ShareGPT conversations → messages",
    "data.jsonl: Alpaca instruction → prompt, output → completion",
    'ignoring keys in data.jsonl: "id" of 1 row',
  ]);
});

describe("turns that are calls", () => {
  const callTurn = (value: unknown, from = "function_call") => ({ from, value });
  const messagesOf = async (...turns: object[]) => {
    const conversations = [HUMAN, ...turns, { from: "observation", value: "1" }, GPT];
    const { rows } = await writtenLines([{ conversations }]);
    return (rows[0] as { messages: object[] }).messages.slice(1, -2);
  };
  const called = (...calls: object[]) => ({ role: "assistant", tool_calls: calls });

  it("may be several: a list, or turns one after another", async () => {
    const [one, two] = [1, 2].map((price) => ({ name: "discount", arguments: { price } }));
    const calls = called(CALL({ price: 1 }), CALL({ price: 2 }));
    expect(await messagesOf(callTurn(JSON.stringify([one, two])))).toEqual([calls]);
    expect(await messagesOf(callTurn([one, two]))).toEqual([calls]);
    const turns = [one, two].map((call) => callTurn(JSON.stringify(call), "tool_call"));
    expect(await messagesOf(...turns)).toEqual([calls]);
  });

  it("may begin with a thought, and keep each digit", async () => {
    const call = '{"name":"discount","arguments":{"id":2512292042121000001}}';
    const path = scratchFile(
      "data.jsonl",
      JSON.stringify({
        conversations: [
          HUMAN,
          callTurn(`<think>Hm.</think>\n<tool_call>\n${call}\n</tool_call>`),
          { from: "observation", value: "1" },
          GPT,
        ],
      }),
    );
    const { rows, text } = await written({ type: "jsonl", path });
    expect(rows[0]).toMatchObject({ messages: [{}, { content: "<think>Hm.</think>" }, {}, {}] });
    expect(text).toContain('"arguments":{"id":2512292042121000001}');
  });

  it.each(["{oops", "7", '{"arguments":{}}', "Hello"])("%s is refused", async (value) => {
    const rows = [{ conversations: [HUMAN, callTurn(value), GPT] }];
    expect(await refusalOf(writtenLines(rows))).toBe(
      'data.jsonl:1: conversations[1] is not a tool call. Write {"name":"…","arguments":{…}}, or a list of these.',
    );
  });
});

test.each<[object, string]>([
  [
    { conversations: [HUMAN, { from: "narrator", value: "…" }] },
    'conversations[1] has the role "narrator": write system, developer, user, assistant or tool.',
  ],
  [
    { conversations: [{ from: "human", value: null }] },
    'conversations[0] needs "from", a string, and "val',
  ],
  [{ contents: [{ role: "user" }] }, 'contents[0] needs "parts", a list of {"text":"…"}.'],
  [
    { contents: [{ role: "model", parts: [{ functionCall: { name: "f", args: {} } }] }] },
    'contents[0] has a part "functionCall", but Kit reads only text in Gemini\'s format: write mess',
  ],
  [
    { messages: [{ role: "user", content: [{ image: { format: "png" } }] }, ANSWER("a")] },
    'messages[0] has a part of type "image"; Kit reads only parts of type "text"',
  ],
  [
    { messages: [{ role: "user", content: [{ type: "text", text: { value: "Hi" } }] }] },
    'messages[0] has a part of type "text" whose "text" is not a string',
  ],
  [{ messages: CHAT, tools: "{" }, 'column "tools" is not valid JSON'],
  [{ messages: CHAT, tools: [{ type: "web_search" }] }, "tools[0] is not {"],
  [{ instruction: "Hi", output: 7 }, 'column "output" is not text. Write a string in it.'],
  [
    { instruction: "Hi", input: 1, output: "3" },
    'column "input" is not text. Write a string in it.',
  ],
  ...[["a", "b"], [["a"]], { a: "b" }, [["a", 1]]].map((history): [object, string] => [
    { instruction: "Hi", output: "Oh", history },
    'column "history" is not a list of [question, answer]. Write one.',
  ]),
  [{ conversations: [{ from: "constructor", value: "" }] }, 'conversations[0] has the role "con'],
  [{ conversations: ["Hi"] }, 'conversations[0] needs a "role" (system,'],
  [{ conversations: "Hi" }, 'column "conversations" is not valid JSON at character 1: it begins'],
  [{ who: "Hi" }, 'no "messages", "prompt" or "text"; for other names, set columns or map'],
])("what is wrong is told by its own name: %j", async (row, problem) => {
  expect(await refusalOf(writtenLines([row]))).toContain(`data.jsonl:1: ${problem}`);
});

describe("public preferences", () => {
  const pair = { prompt: [USER("Hi")], chosen: [ANSWER("Hello")], rejected: [ANSWER("no")] };
  const words = { chosen: "Hello", rejected: "no" };
  it.each<[string, object, object, RowFormat<object>]>([
    [
      "Orca's",
      { system: "You help.", question: "Hi", ...words },
      { ...pair, prompt: [SYSTEM, USER("Hi")] },
      PAIR_FORMAT,
    ],
    ["Alpaca's", { instruction: "Hi", input: "", ...words }, pair, PAIR_FORMAT],
    [
      "ShareGPT's",
      { conversations: [HUMAN], chosen: GPT, rejected: { from: "gpt", value: "no" } },
      pair,
      PAIR_FORMAT,
    ],
    [
      "whole conversations of ShareGPT's turns",
      { chosen: [HUMAN, GPT], rejected: [HUMAN, { from: "gpt", value: "no" }] },
      pair,
      PAIR_FORMAT,
    ],
    [
      "judged conversations",
      { conversations: [HUMAN, GPT], label: true },
      { prompt: [USER("Hi")], completion: [ANSWER("Hello")], label: true },
      LABELLED_FORMAT,
    ],
    [
      "judged answers",
      { question: "Hi", answer: "Hello", label: false },
      { prompt: [USER("Hi")], completion: [ANSWER("Hello")], label: false },
      LABELLED_FORMAT,
    ],
  ])("%s are taken", async (_, row, expected, form) => {
    expect((await writtenLines([row], form)).rows).toEqual([expected]);
  });
});

describe("columns that are left out", () => {
  const columns = { prompt: "instruction", completion: "output" };
  const alpaca = { instruction: "Translate.", input: "Hi", output: "Salut", id: 1 };

  it("are named, and warned of where they may belong to the question", async () => {
    const rows = [alpaca, { ...alpaca, input: "" }];
    const warning = (file: string) =>
      `warning: "input" of 1 row of ${file} is ignored, but may belong to the question: leave out columns, or set map, to learn from it`;
    const path = scratchFile("data.json", JSON.stringify(rows));
    const { notes } = await written({ type: "json", path, columns });
    expect(notes.slice(1)).toEqual([
      warning("data.json"),
      'ignoring keys in data.json: "id" of 2 rows',
    ]);
    const lines = scratchFile("data.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
    expect((await written({ type: "jsonl", path: lines, columns })).notes[1]).toBe(
      warning("data.jsonl"),
    );
  });

  it("of a question with a context, too", async () => {
    const { notes } = await writtenLines([
      { question: "Who?", context: "Ann did.", answer: "Ann" },
    ]);
    expect(notes[1]).toBe(
      'warning: "context" of 1 row of data.jsonl is ignored, but may belong to the question: set map to learn from it',
    );
  });

  it("of Parquet and CSV are named, too", async () => {
    for (const type of ["parquet", "csv"] as const) {
      const { notes, rows } = await written({ type, path: fixture(`pandas.${type}`) });
      expect(notes).toEqual([
        `pandas.${type}: columns question → prompt, answer → completion`,
        `ignoring keys in pandas.${type}: "count" of ${rows.length} rows`,
      ]);
    }
  });
});

describe("a conversation as a text, as a table that was saved has it", () => {
  const [question, good, bad] = [USER("Hi"), ANSWER("Hello"), ANSWER("No")];
  const CONTENT_FIRST =
    '[{"content": "Hi", "role": "user"}, {"content": "Hello", "role": "assistant"}]';

  it.each([
    [{ messages: CONTENT_FIRST }, { messages: CHAT }],
    [{ prompt: JSON.stringify([question]), completion: [good] }, { messages: CHAT }],
    // A model may be to answer with such a text.
    [
      { prompt: "Hi", completion: CONTENT_FIRST },
      { prompt: "Hi", completion: CONTENT_FIRST },
    ],
  ])("is read: %j", async (row, expected) => {
    expect((await writtenLines([row])).rows).toEqual([expected]);
  });

  it("is read of a pair, in JSONL and CSV", async () => {
    const chosen = CONTENT_FIRST;
    const rejected = JSON.stringify([question, bad]);
    const pair = { prompt: [question], chosen: [good], rejected: [bad] };
    for (const row of [
      { chosen, rejected },
      { prompt: "Hi", chosen, rejected },
    ]) {
      expect((await writtenLines([row], PAIR_FORMAT)).rows).toEqual([pair]);
    }
    const cells = [chosen, rejected].map((cell) => `"${cell.replaceAll('"', '""')}"`);
    const path = scratchFile("pairs.csv", `chosen,rejected\n${cells.join(",")}\n`);
    expect((await written({ type: "csv", path }, { format: PAIR_FORMAT })).rows).toEqual([pair]);
  });

  it("is refused as Python prints it", async () => {
    const printed = "[{'role': 'user', 'content': 'Hi'}]";
    for (const row of [{ messages: printed }, { prompt: printed, completion: "Hello" }]) {
      expect(await refusalOf(writtenLines([row]))).toMatch(
        /data\.jsonl:1: column "\w+" is not valid JSON at character 3: a quote that is not JSON's\./,
      );
    }
    const path = scratchFile("rows.csv", `prompt,completion\nHi,"${printed}"\n`);
    expect(await refusalOf(written({ type: "csv", path }))).toContain(
      'rows.csv:2: column "completion" is not',
    );
  });
});

test("a label may have LLaMA-Factory's name", async () => {
  const rows = [
    { conversations: [HUMAN, GPT], kto_tag: true },
    { messages: CHAT, kto_tag: false },
  ];
  const found = await writtenLines(rows, LABELLED_FORMAT);
  const parts = { prompt: [USER("Hi")], completion: [ANSWER("Hello")] };
  expect(found.rows).toEqual([true, false].map((label) => ({ ...parts, label })));
  expect(await refusalOf(writtenLines(rows.slice(1)))).toMatch(/a "label": .* type: "kto"/);
});

test.each<[object, RegExp]>([
  [
    { messages: CHAT, rejected_response: "no" },
    /:1: a pair of answers: set objective to \{ type: "dpo" \}/,
  ],
  [
    { query: "q", tools: "[]", answers: '[{"name":"f","arguments":{}}]' },
    /:1: APIGen rows, with a "query" and "answers", need a map that returns \{"messages"/,
  ],
])("%j is refused by the name of its form", async (row, sentence) => {
  expect(await refusalOf(writtenLines([row]))).toMatch(sentence);
});

const numbers = (value: string) =>
  `{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"n":${value}}}}]}]}`;

test.each(["1E400", "-1e999", "1.5e309"])("%s, which no float holds, is refused", async (value) => {
  const path = scratchFile("data.jsonl", `{"text":"a","more":${value}}\n${numbers(value)}`);
  expect(await refusalOf(written({ type: "jsonl", path }))).toBe(
    "data.jsonl:2: has a number that is too large, such as 1e400, or NaN. Write it as text, or leave it out.",
  );
});

test.each([NaN, -Infinity])("%d in a row of code is refused where it is learned", async (value) => {
  const row = JSON.parse(numbers("0")) as { messages: { tool_calls: object[] }[] };
  row.messages[1]!.tool_calls = [{ function: { name: "f", arguments: { n: value } } }];
  const rows = [{ text: "a", more: value }, row] as never;
  expect(await refusalOf(written({ type: "code", path: [] }, { code: { rows } }))).toMatch(
    /^dataset, row 2: has a number that is too large/,
  );
});
