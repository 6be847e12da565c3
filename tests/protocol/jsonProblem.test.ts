import { expect, test } from "vitest";
import { positionIn, problemOfJson } from "../../protocol/jsonProblem.ts";

const QUOTES = "Write strings and keys in double quotes, as Python's json.dumps does.";
const NUMBER = "a number that JSON does not have. Write numbers such as 0.5, 12 or -1e6.";
const INNER_QUOTE = 'the quote before this ends the string. Write \\" for a quote inside a string.';
const WORD = "a word without quotes. Write strings and keys in double quotes.";

test.each([
  ["{", "1:2", "it ends inside an object. Complete it."],
  ['{\n  "a": [1, 2\n', "3:1", "it ends inside a list. Complete it."],
  ['{"a": "x', "1:9", "it ends inside a string. Complete it."],
  ['{"a":"\\', "1:8", "it ends inside a string. Complete it."],
  ["", "1:1", "it ends too early. Complete it."],
  [
    '{"a": 1}{"b": 2}',
    "1:9",
    'another value begins here. Write each on a line of its own, as "jq -c ." does.',
  ],
  [
    '{"a": 1}\n{"b": 2}',
    "2:1",
    'another value begins here. Write each on a line of its own, as "jq -c ." does.',
  ],
  ['{"a":1},', "1:8", "a comma after the end. Remove it."],
  ['{"a":1}]', "1:8", "one ] too many. Remove it."],
  ['{"a":1} x', "1:9", "something follows the end. Remove it."],
  ["{'a': 1}", "1:2", `a quote that is not JSON's. ${QUOTES}`],
  [`{"a": 'x'}`, "1:7", `a quote that is not JSON's. ${QUOTES}`],
  ["{“a”: 1}", "1:2", 'a curly quote, “. Write straight ones, ".'],
  ['{"a": „x“}', "1:7", 'a curly quote, „. Write straight ones, ".'],
  ['{"a":1,}', "1:8", "a comma before }. Remove the comma."],
  ['{"a":[1,\n]}', "2:1", "a comma before ]. Remove the comma."],
  ['{"a":NaN}', "1:6", "NaN, which JSON does not have. Write null or a number."],
  ["[-Infinity]", "1:2", "-Infinity, which JSON does not have. Write null or a number."],
  ['{"a":None}', "1:6", "None, which JSON does not have. Write null."],
  ['{"a":True,"b":2}', "1:6", "True, which JSON does not have. Write true."],
  ['{"a":undefined}', "1:6", "undefined, which JSON does not have. Write null."],
  ['{"a":1} // x', "1:9", "a comment, which JSON does not have. Remove it."],
  ['{/* x */"a":1}', "1:2", "a comment, which JSON does not have. Remove it."],
  ["# x", "1:1", "a comment, which JSON does not have. Remove it."],
  ['{"a":"x\ty"}', "1:8", "a tab inside a string. Write \\t there, and close every string."],
  [
    ...(['{"a":"x\ny"}', "1:8"] as const),
    "a line break inside a string. Write \\n there, and close every string.",
  ],
  [
    ...(['{"a":"\u0001"}', "1:7"] as const),
    "the control character U+0001 inside a string. Write \\u0001 there, and close every string.",
  ],
  [
    ...(['{"a":"C:\\x"}', "1:9"] as const),
    "JSON does not have the escape \\x. Write \\\\ for a backslash.",
  ],
  [
    ...(['{"a":"\\u12"}', "1:7"] as const),
    "\\u is not followed by four hexadecimal digits. Write \\\\ for a backslash.",
  ],
  ["{a:1}", "1:2", WORD],
  ['{"a":nul}', "1:6", WORD],
  ['{"a" "b"}', "1:6", "a colon is missing. Write one between key and value."],
  ['[{"a":1}{"b":2}]', "1:9", "a comma is missing. Write one before this."],
  ['{"a":}', "1:6", "a value is missing. Write it, or remove what needs it."],
  ['{"a":1,,"b":2}', "1:8", 'a key is missing. Write "key": value.'],
  ['{"a":"he said "hi""}', "1:16", INNER_QUOTE],
  ['{"a":"5" wide"}', "1:10", INNER_QUOTE],
  ["[01]", "1:3", NUMBER],
  ["[.5]", "1:2", NUMBER],
  ["[0x1F]", "1:3", NUMBER],
  ["[1_000]", "1:3", NUMBER],
  ['{"a":\u00a01}', "1:6", "an invisible character, U+00A0. Remove it."],
  ['{"a";1}', "1:5", ";, which cannot stand here. Remove it."],
  ["prompt,completion", "1:1", "it begins with prompt."],
  ["<html>", "1:1", "it begins with <."],
  ['{"é":"😀",}', "1:10", "a comma before }. Remove the comma."],
])("%j is wrong at %s", (text, place, problem) => {
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  const found = problemOfJson(text);
  const { line, column } = positionIn(text, found.offset);
  expect([`${line}:${column}`, found.problem]).toEqual([place, problem]);
});

test("a text that is nested too deeply to be walked ends too early, and no walk fails", () => {
  expect(problemOfJson("[".repeat(1e6)).problem).toMatch(/^it ends/);
});
