import { describe, expect, test } from "vitest";
import { createIgnoredKeys } from "../../../engines/dataset/ignoredKeys.ts";
import { LABELLED_FORMAT } from "../../../engines/dataset/labelledAnswer.ts";
import { PAIR_FORMAT } from "../../../engines/dataset/pair.ts";
import { ROW_FORMAT } from "../../../engines/dataset/row.ts";

const WHERE = "data.jsonl:3";
const USER = { role: "user", content: "q" };
const ANSWER = (content: string) => ({ role: "assistant", content });
const TOOLS = [{ type: "function", function: { name: "add" } }];

const pair = (row: unknown) => PAIR_FORMAT.parse(row, WHERE);
const judged = (row: unknown) => LABELLED_FORMAT.parse(row, WHERE);

describe("a pair", () => {
  const parsed = { prompt: [USER], chosen: [ANSWER("a")], rejected: [ANSWER("b")] };

  test.each([
    ["words", { prompt: "q", chosen: "a", rejected: "b" }],
    ["messages", parsed],
    ["words and messages", { ...parsed, prompt: "q" }],
    [
      "two conversations",
      { chosen: [USER, ANSWER("a")], rejected: [USER, { ...ANSWER("b"), weight: null }] },
    ],
    [
      "OpenAI's",
      {
        input: { messages: [USER], parallel_tool_calls: true },
        preferred_output: [ANSWER("a")],
        non_preferred_output: [ANSWER("b")],
      },
    ],
    ["ms-swift's", { messages: [USER, ANSWER("a")], rejected_response: "b" }],
  ])("may be of %s", (_, row) => {
    expect(pair(row)).toEqual(parsed);
    // As it is kept in a job's folder.
    expect(pair(parsed)).toEqual(parsed);
  });

  test("keeps the weight 0 of an answer's earlier turn", () => {
    const earlier = { ...ANSWER("so"), weight: 0 };
    const chosen = [earlier, USER, { ...ANSWER("a"), weight: 1 }];
    expect(pair({ ...parsed, chosen }).chosen).toEqual([earlier, USER, ANSWER("a")]);
  });

  test("has its tools, and no earlier answer to learn", () => {
    const messages = [USER, ANSWER("before"), USER];
    const expected = [USER, { ...ANSWER("before"), weight: 0 }, USER];
    const more = { prompt: messages, chosen: "a", rejected: "b", tools: TOOLS };
    expect(pair(more)).toEqual({ ...parsed, prompt: expected, tools: TOOLS });
    const [preferred_output, non_preferred_output] = [[ANSWER("a")], [ANSWER("b")]];
    const input = { messages, tools: TOOLS };
    expect(pair({ input, preferred_output, non_preferred_output })).toMatchObject({ tools: TOOLS });
  });

  test.each([
    [{ prompt: "q", chosen: "a", rejected: "a" }, '"chosen" and "rejected" are the same answer'],
    [
      { chosen: [USER, ANSWER("a")], rejected: [USER, ANSWER("a")] },
      '"chosen" and "rejected" are the same answer',
    ],
    [{ prompt: "q", chosen: " ", rejected: "b" }, '"chosen" is empty'],
    [{ prompt: "q", chosen: "a", rejected: "" }, '"rejected" is empty'],
    [{ prompt: "q", chosen: "a" }, 'a "chosen" answer without a "rejected" one'],
    [{ prompt: "q", rejected: "a" }, 'a "rejected" answer without a "chosen" one'],
    [{ chosen: "a", rejected: "b" }, '"chosen" and "rejected" without a "prompt"'],
    [
      { chosen: [USER, ANSWER("a")], rejected: [{ ...USER, content: "r" }, ANSWER("b")] },
      '"chosen" and "rejected" start with different questions',
    ],
    [
      { chosen: [USER, ANSWER("a")], rejected: [USER, ANSWER("a"), USER, ANSWER("b")] },
      '"rejected" starts with all of "chosen"',
    ],
    [
      { chosen: [USER, ANSWER("a"), USER, ANSWER("b")], rejected: [USER, ANSWER("a")] },
      '"chosen" starts with all of "rejected"',
    ],
    [{ prompt: "q", chosen: [USER], rejected: "b" }, '"chosen" does not end with an "assistant"'],
    [{ prompt: 3, chosen: "a", rejected: "b" }, '"prompt" is neither text nor a list of messages'],
    [{ prompt: "q", chosen: null, rejected: "b" }, 'a "rejected" answer without a "chosen" one'],
    [{ prompt: "q", chosen: 3, rejected: "b" }, '"chosen" is neither text nor a list of mess'],
    [{ prompt: "q", chosen: "a", rejected: [] }, '"rejected" is neither text nor a list of mess'],
    [
      { prompt: "q", chosen: [{ ...ANSWER("a"), weight: 0 }], rejected: "b" },
      '"chosen" has the "weight" 0',
    ],
    [
      { prompt: "q", chosen: [{ ...ANSWER("a"), weight: 1 }], rejected: "a" },
      '"chosen" and "rejected" are the same answer',
    ],
    [
      { prompt: [{ role: "user" }], chosen: "a", rejected: "b" },
      'prompt[0] needs a "role" (system, developer, user, assistant or tool) and a "content" string',
    ],
    [
      { input: "q", preferred_output: [ANSWER("a")], non_preferred_output: [ANSWER("b")] },
      '"input" is not {"messages":[…]}',
    ],
    [
      { input: { messages: [USER] }, preferred_output: [ANSWER("a")] },
      '"non_preferred_output" is neither text nor a list of messages',
    ],
    [{ prompt: "q", completion: "a" }, 'a single answer, but the objective "dpo" needs two'],
    [{ messages: [USER, ANSWER("a")] }, 'a single answer, but the objective "dpo" needs two'],
    [
      { prompt: "q", completion: "a", label: true },
      'a "label" is for the objective "kto", not "dpo"',
    ],
    [{ question: "q" }, 'no "chosen" and "rejected"; for other names, set columns or map'],
  ])("that is wrong is told with its line and what to write: %j", (row, problem) => {
    expect(() => pair(row)).toThrow(`${WHERE}: ${problem}`);
    expect(() => pair(row)).toThrow(/\. Write \{"prompt":"…","chosen":"…","rejected":"…"\}, or/);
  });
});

describe("a judged answer", () => {
  const parsed = { prompt: [USER], completion: [ANSWER("a")], label: false };

  test.each([
    ["words", { prompt: "q", completion: "a", label: false }],
    ["messages", parsed],
    ["a conversation", { messages: [USER, ANSWER("a")], label: false }],
    ["a table's words", { prompt: "q", completion: "a", label: "False" }],
    ["a database's numbers", { prompt: "q", completion: "a", label: 0 }],
    ["a table's numbers", { prompt: "q", completion: "a", label: "0" }],
  ])("may be of %s", (_, row) => {
    expect(judged(row)).toEqual(parsed);
    expect(judged(parsed)).toEqual(parsed);
  });

  test.each([
    [{ prompt: "q", completion: "a" }, 'no "label" that says whether the answer is good; for'],
    [{ prompt: "q", completion: "a", label: "up" }, '"label" is neither true nor false'],
    [{ prompt: "q", completion: 3, label: true }, '"completion" is neither text nor a list of'],
    [{ messages: [USER, { ...ANSWER("a"), weight: 0 }], label: true }, '"completion" has the "w'],
    [{ prompt: "q", completion: "a", label: 2 }, '"label" is neither true nor false'],
    [{ prompt: "q", completion: " ", label: true }, '"completion" is empty'],
    [{ completion: "a", label: true }, 'no "prompt" or "messages"'],
    [{ prompt: "q", label: true }, 'a "prompt" without a "completion"'],
    [{ messages: [USER], label: true }, '"messages" does not end with an "assistant" message'],
    [{ messages: [ANSWER("a")], label: true }, '"messages" has only an answer'],
    [
      { prompt: "q", chosen: "a", rejected: "b" },
      'two answers, which the objective "dpo" learns from, not "kto"',
    ],
  ])("that is wrong is told with its line and what to write: %j", (row, problem) => {
    expect(() => judged(row)).toThrow(`${WHERE}: ${problem}`);
    expect(() => judged(row)).toThrow(/\. Write \{"prompt":"…","completion":"…","label":true\} or/);
  });
});

test.each([
  [{ prompt: "q", chosen: "a", rejected: "b" }, 'set objective to { type: "dpo" }'],
  [{ prompt: "q", completion: "a", label: false }, 'set objective to { type: "kto" }'],
])("a row of preferences is no right answer: %j", (row, advice) => {
  expect(() => ROW_FORMAT.parse(row, WHERE)).toThrow(advice);
});

test("keys that Kit does not read are counted, those of messages too", () => {
  const ignored = createIgnoredKeys();
  const chosen = [{ ...ANSWER("a"), score: 1 }];
  const row = { prompt: "q", chosen, rejected: "b", margin: 2 };
  PAIR_FORMAT.parse(row, WHERE, ignored);
  expect(ignored.notes("data.jsonl")).toEqual([
    'ignoring keys in data.jsonl: "margin" of 1 row, "score" of 1 message',
  ]);
});
