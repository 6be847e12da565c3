import { expect, test } from "vitest";
import { KitError } from "../../../protocol/error.ts";
import { scratchFile } from "../embedded/scratch.ts";
import { frozen } from "./materialized.ts";

const ROW = '{"prompt":"a","completion":"b"}';

test.each([
  ["oops", /train\.jsonl:3:1: not valid JSON: it begins with oops\. Write one of \{"messages"/],
  ["{oops", /train\.jsonl:3:2: not valid JSON: a word without quotes\. Write strings and keys/],
  ["[1]", /train\.jsonl:3: not a JSON object/],
  ["{}", /train\.jsonl:3: no "messages", "prompt" or "text"/],
  ['{"prompt":"a"}', /train\.jsonl:3: a "prompt" without a "completion"\. Write one/],
  ['{"completion":"a"}', /train\.jsonl:3: a "completion" without a "prompt"\. Write one/],
  ['{"prompt":"a","completion":null}', /train\.jsonl:3: a "prompt" without a "completion"/],
  ['{"prompt":1,"completion":"a"}', /train\.jsonl:3: "prompt" is neither text nor a list/],
  ['{"prompt":"a","completion":["b"]}', /train\.jsonl:3: completion\[0\] needs a "role"/],
  ['{"text":7}', /train\.jsonl:3: "text" is not a string/],
  ['{"messages":[]}', /train\.jsonl:3: "messages" is not a list of messages/],
  [
    '{"messages":[{"role":"user","content":"a"},{"role":"clown","content":"b"}]}',
    /train\.jsonl:3: messages\[1\] has the role "clown": write system, developer,/,
  ],
  [
    '{"messages":[{"role":"user","content":"a"}]}',
    /train\.jsonl:3: no "assistant" message to learn/,
  ],
])("a bad line is named with its file and number: %s", async (line, message) => {
  const path = scratchFile("train.jsonl", `${ROW}\r\n\r\n${line}\r\n${ROW}`);
  const refused = expect(frozen(path)).rejects;
  await refused.toThrow(message);
  await refused.toThrow(KitError);
});

test.each<[string, string, boolean]>([
  ["rows.csv", "prompt\n", true],
  ["rows.TSV", "a question? yes", true],
  ["rows.txt", '"prompt";"completion"', true],
  ["rows.jsonl", "7th of March\t1998-03-07", true],
  ["rows.txt", "Once, there was a king;", false],
  ["rows.jsonl", '{"text":"a",b}', false],
  ["rows.jsonl", '{"text":"a"}\na,b', false],
])("%s that begins with %j is told as CSV: %j", async (name, text, isCsv) => {
  const path = scratchFile(name, text);
  const says = isCsv
    ? /rows\.\w+:[12]: the file is CSV: name/
    : /rows\.\w+:[12]:\d+: not valid JSON: /;
  await expect(frozen(path, { type: "jsonl" })).rejects.toThrow(says);
});
