import { join } from "node:path";
import { expect, test } from "vitest";
import { readDataset } from "../../../engines/dataset/dataset.ts";
import { EngineError } from "../../../engines/error.ts";
import { decode, SPECIALS } from "../../../engines/llama/tokenizer.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";

const ROW = '{"prompt":"a","completion":"b"}';

test("a byte order mark, CRLF, blank lines and a missing last newline are accepted", () => {
  const path = scratchFile("train.jsonl", `\uFEFF${ROW}\r\n\r\n  \n${ROW}\n\n${ROW}`);
  expect(readDataset(path, 64)).toMatchObject({ rows: 3, promptStyle: "message" });
});

test("a prompt with its completion is a conversation of two messages", () => {
  const messages = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ];
  const path = scratchFile("train.jsonl", jsonl([{ prompt: "a", completion: "b" }, { messages }]));
  const { examples, format } = readDataset(path, 64);
  expect(format).toBe("{messages} | {prompt, completion}");
  expect(examples[0]).toEqual(examples[1]);
  expect(examples[0]?.learned).toEqual([0, 0, 0, 0, 0, 1, 1]);
});

test("all of a text is learned, and bare prompts then mean texts", () => {
  const path = scratchFile("train.jsonl", jsonl([{ text: "abc" }]));
  const { examples, promptStyle } = readDataset(path, 64);
  expect(examples).toEqual([
    { tokens: [SPECIALS.bos, 97, 98, 99, SPECIALS.eos], learned: [0, 1, 1, 1, 1] },
  ]);
  expect(promptStyle).toBe("text");
});

test("a text that is too long is cut into pieces that miss no token", () => {
  const text = "The quick brown fox jumps over the lazy dog";
  const path = scratchFile("train.jsonl", jsonl([{ text }]));
  const { rows, cut, examples } = readDataset(path, 16);
  expect({ rows, cut }).toEqual({ rows: 1, cut: 0 });
  expect(examples.every(({ tokens }) => tokens.length <= 16)).toBe(true);
  const learned = examples.flatMap(({ tokens, learned }) => tokens.filter((_, i) => learned[i]));
  expect(decode(learned)).toBe(text);
  expect(learned.at(-1)).toBe(SPECIALS.eos);
});

test("a conversation that is too long loses its end, or is left out when no answer remains", () => {
  const long = { prompt: "p".repeat(50), completion: "no" };
  const path = scratchFile(
    "train.jsonl",
    jsonl([long, { prompt: "p", completion: "c".repeat(50) }]),
  );
  const { rows, cut, examples } = readDataset(path, 20);
  expect({ rows, cut }).toEqual({ rows: 1, cut: 2 });
  expect(examples.map(({ tokens }) => tokens.length)).toEqual([20]);
});

test("no answer within maxLength in any row is an error that says so", () => {
  const path = scratchFile("train.jsonl", jsonl([{ prompt: "p".repeat(50), completion: "no" }]));
  expect(() => readDataset(path, 20)).toThrow(
    /train\.jsonl has an answer within 20 tokens.*maxLength/,
  );
});

test.each([
  ["{oops", /train\.jsonl:3: not valid JSON; expected one of \{"messages"/],
  ["[1]", /train\.jsonl:3: not a JSON object/],
  ["{}", /train\.jsonl:3: no "messages", "prompt" or "text"/],
  ['{"prompt":"a"}', /train\.jsonl:3: a "prompt" without a "completion"; expected/],
  ['{"completion":"a"}', /train\.jsonl:3: a "completion" without a "prompt"; expected/],
  ['{"prompt":"a","completion":null}', /train\.jsonl:3: "completion" is not a text/],
  ['{"prompt":1,"completion":"a"}', /train\.jsonl:3: "prompt" is not a text/],
  ['{"text":7}', /train\.jsonl:3: "text" is not a text/],
  ['{"messages":[]}', /train\.jsonl:3: "messages" is not a list of messages/],
  [
    '{"messages":[{"role":"user","content":"a"},{"role":"bot","content":"b"}]}',
    /train\.jsonl:3: messages\[1\] needs a "role" \(system, user or assistant\)/,
  ],
  ['{"messages":[{"role":"user","content":"a"}]}', /train\.jsonl:3: no message of the "assistant"/],
])("a bad line is named with its file and number: %s", (line, message) => {
  const path = scratchFile("train.jsonl", `${ROW}\r\n\r\n${line}\r\n${ROW}`);
  expect(() => readDataset(path, 64)).toThrow(message);
  expect(() => readDataset(path, 64)).toThrow(EngineError);
});

test("a line that is not UTF-8 is named", () => {
  const path = scratchFile("train.jsonl", Buffer.from([0x7b, 0x0a, 0xff, 0x0a]).subarray(2));
  expect(() => readDataset(path, 64)).toThrow(/train\.jsonl:1: not UTF-8/);
});

test("a missing file, a directory and a file without rows are clear errors", () => {
  const directory = scratchDirectory();
  expect(() => readDataset(join(directory, "no.jsonl"), 64)).toThrow(
    /Cannot read the dataset .*no\.jsonl: there is no such file/,
  );
  expect(() => readDataset(directory, 64)).toThrow(
    /Cannot read the dataset .*: it is a folder, not a file\. Check dataset\.path/,
  );
  expect(() => readDataset(scratchFile("empty.jsonl", "\n \r\n"), 64)).toThrow(
    /empty\.jsonl has no rows/,
  );
});
