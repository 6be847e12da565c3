import { execFileSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Sequence } from "../../../engines/examples/examples.ts";
import { objectiveOf } from "../../../engines/objectives/objectives.ts";
import { decode, SPECIALS } from "../../../engines/tokens/byteTokens.ts";
import { type TokenizedDataset, readDataset } from "../../../engines/training/tokenizedDataset.ts";
import type { DpoObjective } from "../../../protocol/objective.ts";
import { spawnModule } from "../../process.ts";
import { canonical, jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";

const ROW = '{"prompt":"a","completion":"b"}';

function examplesOf({ examples }: TokenizedDataset): { tokens: number[]; learned: number[] }[] {
  return Array.from({ length: examples.length }, (_, n) => {
    const [{ tokens, learned }] = examples.at(n).sequences as [Sequence];
    return { tokens: [...tokens], learned: [...learned] };
  });
}

test("a pair whose answers differ only past the limit is left out, and none of its kind is an error", () => {
  const alike = { prompt: "a", chosen: `${"b".repeat(20)}c`, rejected: `${"b".repeat(20)}d` };
  const pairs = [alike, { prompt: "a", chosen: "b", rejected: "c" }];
  const objective = objectiveOf({ objective: { type: "dpo" } as DpoObjective });
  const read = (rows: object[], limit: number) =>
    readDataset(scratchFile("pairs.jsonl", canonical(rows, objective.format)), limit, {
      objective,
    });
  expect(read(pairs, 16)).toMatchObject({ rows: 1, skipped: 1, longestSkipped: 27 });
  expect(read(pairs, 27)).toMatchObject({ rows: 2, skipped: 0 });
  expect(() => read([alike], 16)).toThrow(
    /^No row of .* Shorten the prompts or raise maxLength\.$/,
  );
});

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
  const dataset = readDataset(path, 64);
  const examples = examplesOf(dataset);
  expect(dataset.format).toBe("{messages} | {prompt, completion}");
  expect(examples[0]).toEqual(examples[1]);
  expect(examples[0]?.learned).toEqual([0, 0, 0, 0, 0, 1, 1]);
});

test("all of a text is learned, and bare prompts then mean texts", () => {
  const path = scratchFile("train.jsonl", jsonl([{ text: "abc" }]));
  const dataset = readDataset(path, 64);
  expect(examplesOf(dataset)).toEqual([
    { tokens: [SPECIALS.bos, 97, 98, 99, SPECIALS.eos], learned: [0, 1, 1, 1, 1] },
  ]);
  expect(dataset.promptStyle).toBe("text");
});

test("a text that is too long is cut into pieces that miss no token", () => {
  const text = "The quick brown fox jumps over the lazy dog";
  const path = scratchFile("train.jsonl", jsonl([{ text }]));
  const dataset = readDataset(path, 16);
  const examples = examplesOf(dataset);
  expect(dataset).toMatchObject({ rows: 1, truncated: 0, skipped: 0 });
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
  const dataset = readDataset(path, 20);
  expect(dataset).toMatchObject({ rows: 1, truncated: 1, skipped: 1, longestSkipped: 57 });
  expect(examplesOf(dataset).map(({ tokens }) => tokens.length)).toEqual([20]);
});

test("no answer within maxLength in any row is an error that says so", () => {
  const path = scratchFile("train.jsonl", jsonl([{ prompt: "p".repeat(50), completion: "no" }]));
  expect(() => readDataset(path, 20)).toThrow(
    /train\.jsonl can be trained on within 20 tokens.*maxLength/,
  );
});

test.each([
  '{"tools":[{"type":"function","function":{"name":"f"}}],"prompt":"a","completion":"b"}',
  '{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]}',
  '{"messages":[{"role":"tool","content":"4"},{"role":"assistant","content":"b"}]}',
])("a row that the chat template cannot write is named with its file and number: %s", (line) => {
  const path = scratchFile("train.jsonl", `${ROW}\r\n\r\n${line}\r\n${ROW}`);
  const refused = /train\.jsonl:3: The model's chat template doesn't support tools\. Use /;
  expect(() => readDataset(path, 64)).toThrow(refused);
});

test("a line that is not UTF-8 is named", () => {
  const path = scratchFile("train.jsonl", Buffer.from([0x7b, 0x0a, 0xff, 0x0a]).subarray(2));
  expect(() => readDataset(path, 64)).toThrow(/train\.jsonl:1: not UTF-8/);
});

test("a missing file, a directory and a pipe are clear errors", () => {
  const directory = scratchDirectory();
  expect(() => readDataset(join(directory, "no.jsonl"), 64)).toThrow(
    /Cannot read the dataset .*no\.jsonl: there is no such file/,
  );
  expect(() => readDataset(directory, 64)).toThrow(
    /Cannot read the dataset .*: it is a folder, not a file\. Check its path\./,
  );
  const pipe = join(directory, "pipe.jsonl");
  execFileSync("mkfifo", [pipe]);
  expect(() => readDataset(pipe, 64)).toThrow(
    /Cannot read the dataset .*pipe\.jsonl: it is not a regular file\. Check its path\./,
  );
});

test("rows that lie across the parts of a large file are read as they are", () => {
  const texts = Array.from({ length: 300 }, (_, n) => `${n}`.repeat(4_000));
  const path = scratchFile("train.jsonl", jsonl(texts.map((text) => ({ text }))));
  const { examples, rows } = readDataset(path, 20_000);
  expect(rows).toBe(300);
  texts.forEach((text, n) => {
    expect(decode(examples.at(n).sequences[0]!.tokens) === text).toBe(true);
  });
});

test("a row of more than 64 MiB is refused in a sentence that names it, without reading all of it", () => {
  const path = scratchFile("train.jsonl", `${ROW}\n`);
  truncateSync(path, 3e9);
  expect(() => readDataset(path, 64)).toThrow(
    /train\.jsonl:2: the row has more than 64 MiB\. Split it into several rows\.$/,
  );
});

test("a dataset that does not fit in memory fails with one clear sentence, before the system ends the process", () => {
  const path = scratchFile("train.jsonl", `${ROW}\n${ROW}`);
  expect(() => readDataset(path, 64, { freeBytes: () => 1e6 })).toThrow(
    /train\.jsonl does not fit in memory, which filled up after 1 rows\. Use a smaller file/,
  );
});

test.each([
  [
    "many rows",
    200_000,
    () => ({ prompt: "the sum of 1 and 2", completion: "it is 3, of course" }),
  ],
  ["one row", 1, () => ({ text: "0123456789 ".repeat(3e6) })],
])("a dataset takes at most 6 times its size in memory: %s", async (_, count, row) => {
  const line = `${JSON.stringify(row())}\n`;
  const path = scratchFile("train.jsonl", line.repeat(count));
  const { line: said } = spawnModule(
    `const { readDataset } = await dist("engines/training/tokenizedDataset.js");
     const before = peakMemory();
     const { rows } = readDataset(process.argv[1], 256);
     console.log(rows, peakMemory() - before);`,
    [path],
  );
  const [rows, kibibytes] = (await said()).split(" ").map(Number);
  expect(rows).toBe(count);
  expect((kibibytes! * 1024) / (line.length * count)).toBeLessThan(6);
});
