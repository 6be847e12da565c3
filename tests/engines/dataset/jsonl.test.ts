import { expect, test } from "vitest";
import { scratchFile } from "../embedded/scratch.ts";
import { frozen, refusalOf } from "./materialized.ts";

const ROWS = ['{"prompt":"p0","completion":"c0"}', '{"prompt":"p1","completion":"c1"}'];
const EXPECTED = 'one of {"messages":';

test.each([
  ["on one line", `[${ROWS.join()}]`],
  [
    "pretty-printed",
    `\n${JSON.stringify(
      ROWS.map((row) => JSON.parse(row) as unknown),
      null,
      2,
    )}`,
  ],
  ["with a row on each line", `[\n${ROWS.join(",\n")}\n]\n`],
])("an array in a .jsonl file is read: %s", async (_, text) => {
  expect(await frozen(scratchFile("rows.jsonl", text))).toEqual({ rows: ROWS, notes: [] });
});

test("a file whose array is wrong says where", async () => {
  const path = scratchFile("rows.jsonl", `[\n${ROWS.join(",\n")},\n]`);
  expect(await refusalOf(path)).toBe(
    "FILE:4:1: not valid JSON: a comma before ]. Remove the comma.",
  );
  expect(await refusalOf(scratchFile("rows.jsonl", `[${ROWS[0]},{"text":1}]`))).toMatch(
    /^FILE, row 2: "text" is not a string\. Write one of /,
  );
});

test("a list on each line is no array of rows", async () => {
  const line = '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]';
  expect(await refusalOf(scratchFile("rows.jsonl", `${line}\n${line}\n`))).toMatch(
    `FILE:1: not a JSON object. Write ${EXPECTED}`,
  );
});

// tests/protocol/jsonProblem.test.ts has every kind of wrong JSON.
test.each([
  [
    "objects over several lines",
    '{\n  "prompt": "p0",\n  "completion": "c0"\n}\n',
    'FILE:1:2: not valid JSON: the object continues on the next line. Write each object on one line, as "jq -c ." does.',
  ],
  [
    "glued objects",
    `${ROWS[0]}\n${ROWS.join("")}\n`,
    'FILE:2:34: not valid JSON: another value begins here. Write each on a line of its own, as "jq -c ." does.',
  ],
  [
    "a call's arguments that are not JSON",
    JSON.stringify({
      messages: [
        { role: "user", content: "q" },
        {
          role: "assistant",
          tool_calls: [{ function: { name: "f", arguments: "{'city': 'Rome'}" } }],
        },
      ],
    }),
    `FILE:1: messages[1] has a call to f with "arguments" that are not valid JSON at character 2: a quote that is not JSON's. Write strings and keys in double quotes, as Python's json.dumps does. Write ${EXPECTED}`,
  ],
  ["prose", "Once upon a time", `FILE:1:1: not valid JSON: it begins with Once. Write ${EXPECTED}`],
])("%s are refused with the place of the first wrong character", async (_, text, message) => {
  expect(await refusalOf(scratchFile("rows.jsonl", text))).toContain(message);
});
