import { describe, expect, it, test } from "vitest";
import { LABELLED_FORMAT } from "../../../engines/dataset/labelledAnswer.ts";
import { PAIR_FORMAT } from "../../../engines/dataset/pair.ts";
import type { RowFormat } from "../../../engines/dataset/rowFormat.ts";
import { scratchFile } from "../embedded/scratch.ts";
import { refusalOf, written, writtenLines } from "./written.ts";

const SYSTEM = { role: "system", content: "Answer in French." };
const USER = { role: "user", content: "Hi" };
const ANSWER = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const TOOLS = [{ type: "function", function: { name: "add" } }];

async function rowOf(row: object, form?: RowFormat<object>): Promise<object | undefined> {
  return (await writtenLines([row], form)).rows[0];
}

describe("an answer that another trainer's key marks is read and not learned", () => {
  const marks = [
    { weight: 0 },
    { loss: false },
    { loss: 0 },
    { loss_mask: 0 },
    { loss_scale: 0 },
    { loss_weight: 0 },
    { step_loss_mask: 0 },
    { train: false },
    { training: false },
    { trainable: false },
    { learn: false },
    { masked: true },
    { masked: 1 },
    { weight: 1, loss: false },
  ];

  it.each(marks)("%j", async (mark) => {
    const messages = [USER, ANSWER("five", mark), USER, ANSWER("4", { loss: true, masked: false })];
    const { rows, notes } = await writtenLines([{ messages }]);
    expect(rows).toEqual([{ messages: [USER, ANSWER("five", { weight: 0 }), USER, ANSWER("4")] }]);
    expect(notes).toEqual([]);
  });

  it("also as pandas and Arrow write it: as a float, or null where a message lacks it", async () => {
    const user = '{"role":"user","content":"Hi","weight":null,"loss":null}';
    const [off, on] = ["0.0", "1.0"].map(
      (weight) => `{"role":"assistant","content":"a","weight":${weight},"loss":${weight}}`,
    );
    const messages = `[${user},${off},${user},${on}]`;
    const path = scratchFile("data.jsonl", `{"messages":${messages}}`);
    expect((await written({ type: "jsonl", path })).rows).toEqual([
      { messages: [USER, ANSWER("a", { weight: 0 }), USER, ANSWER("a")] },
    ]);
    const judged = scratchFile("a.jsonl", `{"messages":[${user},${on}],"label":1.0,"weight":1.0}`);
    const { rows } = await written({ type: "jsonl", path: judged }, { format: LABELLED_FORMAT });
    expect(rows).toMatchObject([{ label: true }]);
    const whole = scratchFile("b.jsonl", `{"messages":${messages},"weight":0.0}`);
    expect(await refusalOf(written({ type: "jsonl", path: whole }))).toContain(
      'b.jsonl:1: the row has the "weight" 0: remove it',
    );
  });

  it("a mark that asks to learn what is no answer is named among the ignored keys", async () => {
    const messages = [{ ...USER, train: true, loss: false }, ANSWER("a", { train: true })];
    const { notes } = await writtenLines([{ messages }]);
    expect(notes).toEqual(['ignoring keys in data.jsonl: "train" of 1 message']);
  });

  it.each([
    [{ loss: 0.5 }, 'has a "loss" of 0.5: write "weight": 0 for an answer that is not learned'],
    [{ train: "no" }, 'has a "train" of "no": write "weight": 0 for an answer that is not'],
    [{ weight: 0.5 }, 'has a "weight" of 0.5: write 0 or 1'],
    [{ train_detail: [{ begin_offset: 0, train: false }] }, 'has a "train_detail", which Kit does'],
    [{ mask: 1 }, 'has a "mask", which Kit does not read: write "weight": 0 for an answer'],
  ])("%j is refused with what to write", async (mark, problem) => {
    expect(await refusalOf(writtenLines([{ messages: [USER, ANSWER("a", mark)] }]))).toContain(
      `data.jsonl:1: messages[1] ${problem}`,
    );
  });
});

describe("a system text beside a row's messages is their first", () => {
  const messages = [USER, ANSWER("Salut")];

  it.each<[string, object, RowFormat<object> | undefined, object]>([
    ["messages", { messages }, undefined, { messages: [SYSTEM, ...messages] }],
    [
      "a prompt and its completion",
      { prompt: "Hi", completion: "Salut" },
      undefined,
      { messages: [SYSTEM, ...messages] },
    ],
    [
      "a pair",
      { prompt: "Hi", chosen: "Salut", rejected: "Hi" },
      PAIR_FORMAT,
      { prompt: [SYSTEM, USER], chosen: [ANSWER("Salut")], rejected: [ANSWER("Hi")] },
    ],
    [
      "a judged answer",
      { messages, label: true },
      LABELLED_FORMAT,
      { prompt: [SYSTEM, USER], completion: [ANSWER("Salut")], label: true },
    ],
  ])("of %s", async (_, row, form, expected) => {
    const texts = [SYSTEM.content, [{ type: "text", text: SYSTEM.content }]];
    const rows = [
      ...texts.map((system) => ({ system, ...row })),
      { system_prompt: SYSTEM.content, system: null, ...row },
    ];
    const { rows: all, notes } = await writtenLines(rows, form);
    expect(all).toEqual(rows.map(() => expected));
    expect(notes.filter((note) => note.startsWith("ignoring"))).toEqual([]);
  });

  it("once, where the messages have it too; an empty one is none", async () => {
    const rows = [
      { system: SYSTEM.content, messages: [SYSTEM, ...messages] },
      { system: " ", messages },
    ];
    expect((await writtenLines(rows)).rows).toEqual([
      { messages: [SYSTEM, ...messages] },
      { messages },
    ]);
  });

  it("or is refused where they begin with another, or where it is not text", async () => {
    const other = { system: "Be short.", messages: [SYSTEM, ...messages] };
    expect(await refusalOf(writtenLines([other]))).toContain(
      'data.jsonl:1: both "system" and a message with role "system": remove one of them. Write',
    );
    expect(await refusalOf(writtenLines([{ system: 7, messages }]))).toContain(
      'data.jsonl:1: "system" is not text. Write',
    );
  });
});

describe("a question that an answer repeats is taken once", () => {
  const [first, second] = [ANSWER("Hello"), ANSWER("no")];
  const pair = { prompt: [USER], chosen: [first], rejected: [second] };
  const earlier = [USER, ANSWER("Oh", { weight: 0 }), { role: "user", content: "And?" }];

  it.each<[string, object, object]>([
    [
      "UltraFeedback's",
      { prompt: "Hi", chosen: [USER, first], rejected: [USER, second], score_chosen: 9 },
      pair,
    ],
    [
      "several turns",
      { prompt: "Hi", chosen: [...earlier, first], rejected: [...earlier, second] },
      { ...pair, prompt: earlier },
    ],
    [
      "a system message before",
      { prompt: "Hi", chosen: [SYSTEM, USER, first], rejected: [SYSTEM, USER, second] },
      { ...pair, prompt: [SYSTEM, USER] },
    ],
    [
      "the same list of messages",
      { prompt: [USER], chosen: [USER, first], rejected: [USER, second] },
      pair,
    ],
    [
      "a list of messages whose system message the answers lack",
      { prompt: [SYSTEM, USER], chosen: [USER, first], rejected: [USER, second] },
      { ...pair, prompt: [SYSTEM, USER] },
    ],
    ["one of both answers", { prompt: "Hi", chosen: [USER, first], rejected: "no" }, pair],
    [
      "answers that begin with a turn of the assistant's",
      { prompt: "Hi", chosen: [first, USER, first], rejected: [second] },
      { ...pair, chosen: [first, USER, first] },
    ],
  ])("by a pair of %s", async (_, row, expected) => {
    expect(await rowOf(row, PAIR_FORMAT)).toEqual(expected);
    // As it is read again from a job's folder.
    expect(await rowOf(expected, PAIR_FORMAT)).toEqual(expected);
  });

  it("a prompt that the conversations lack is named among the ignored keys, as TRL drops it", async () => {
    const row = { prompt: "x1", chosen: [USER, first], rejected: [USER, second], messages: [USER] };
    const { rows, notes } = await writtenLines([row], PAIR_FORMAT);
    expect(rows).toEqual([pair]);
    expect(notes).toContain('ignoring keys in data.jsonl: "prompt" of 1 row, "messages" of 1 row');
  });

  it("one conversation with another question beside an answer alone is refused", async () => {
    const row = { prompt: "Hi", chosen: [SYSTEM, USER, first], rejected: "no" };
    expect(await refusalOf(writtenLines([row], PAIR_FORMAT))).toContain(
      'data.jsonl:1: one of "chosen" and "rejected" is a whole conversation, the other an answer.',
    );
  });

  const judged = { prompt: [USER], completion: [first], label: true };
  it.each<[string, object, object]>([
    ["a text", { prompt: "Hi", completion: [USER, first], label: 1 }, judged],
    ["a list", { prompt: [USER], completion: [USER, first], label: true }, judged],
    [
      "a text after a system message",
      { prompt: "Hi", completion: [SYSTEM, USER, first], label: true },
      { ...judged, prompt: [SYSTEM, USER] },
    ],
  ])("by a judged conversation, beside %s", async (_, row, expected) => {
    expect(await rowOf(row, LABELLED_FORMAT)).toEqual(expected);
    expect(await rowOf(expected, LABELLED_FORMAT)).toEqual(expected);
  });

  it("another question than the prompt is refused", async () => {
    const row = { prompt: "Bye", completion: [USER, first] };
    for (const form of [undefined, LABELLED_FORMAT]) {
      expect(
        await refusalOf(writtenLines([{ ...row, ...(form && { label: true }) }], form)),
      ).toContain('data.jsonl:1: "completion" is a conversation without the "prompt" in it. Write');
    }
  });
});

describe("a prompt and its completion may be lists of messages, as TRL has them", () => {
  it.each<[object, object]>([
    [
      { prompt: [SYSTEM, USER], completion: [ANSWER("a")], tools: TOOLS },
      { messages: [SYSTEM, USER, ANSWER("a")], tools: TOOLS },
    ],
    [
      { prompt: [USER, ANSWER("so"), USER], completion: "a" },
      { messages: [USER, ANSWER("so", { weight: 0 }), USER, ANSWER("a")] },
    ],
    [{ prompt: "Hi", completion: [ANSWER("a")] }, { messages: [USER, ANSWER("a")] }],
    [{ prompt: "Hi", completion: [USER, ANSWER("a")] }, { messages: [USER, ANSWER("a")] }],
    [{ prompt: [USER], completion: [ANSWER("")] }, { messages: [USER, ANSWER("")] }],
  ])("%j", async (row, expected) => {
    expect((await writtenLines([row, { prompt: "q", completion: "a" }])).rows).toEqual([
      expected,
      { prompt: "q", completion: "a" },
    ]);
  });

  test("what is neither is refused", async () => {
    expect(await refusalOf(writtenLines([{ prompt: [USER], completion: [USER] }]))).toContain(
      'data.jsonl:1: no "assistant" message to learn',
    );
    expect(await refusalOf(writtenLines([{ prompt: [], completion: "a" }]))).toContain(
      'data.jsonl:1: "prompt" is neither text nor a list of messages',
    );
  });
});

test.each([
  ["human", 'write "user"'],
  ["gpt", 'write "assistant"'],
  ["narrator", "write system, developer, user, assistant or tool"],
])("a role that Kit does not know is named: %s", async (role, advice) => {
  const { problemOfMessage } = await import("../../../protocol/chatFaults.ts");
  expect(problemOfMessage({ role, content: "a" })).toBe(`has the role "${role}": ${advice}`);
});

test("a key that is null is not there, so that a table of several forms can be JSONL", async () => {
  const rows = [
    { messages: [USER, ANSWER("a")], prompt: null, completion: null, chosen: null, weight: null },
    { messages: null, prompt: "q", completion: "a", label: null, tools: null },
  ];
  expect((await writtenLines(rows)).rows).toEqual([
    { messages: [USER, ANSWER("a")] },
    { prompt: "q", completion: "a" },
  ]);
});
