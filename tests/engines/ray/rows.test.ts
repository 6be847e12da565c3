import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import constants from "../../../engines/constants.json" with { type: "json" };
import { JUDGED_FORM } from "../../../engines/dataset/judged.ts";
import { PAIR_FORM } from "../../../engines/dataset/pair.ts";
import { ROW_FORM } from "../../../engines/dataset/row.ts";
import type { RowForm } from "../../../engines/dataset/rowForm.ts";
import { readRows } from "../../../engines/dataset/rows.ts";
import type { KitError } from "../../../protocol/error.ts";
import { jsonl } from "../embedded/scratch.ts";
import { createScratch } from "../scratch.ts";
import { PYTHON, hasRay } from "./environment.ts";

const ENGINE = fileURLToPath(new URL("../../../engines/python", import.meta.url));
const PROGRAM = fileURLToPath(new URL("rows.py", import.meta.url));

/** Of a line that is too long. */
const ENDLESS_BYTES = 66 * 2 ** 20;
const BAD: (string | Buffer)[] = [
  "{oops",
  "NaN",
  '{"text":NaN}',
  "[".repeat(10_000),
  '{"text":"a\u0001"}',
  Buffer.from([0xff]),
  Buffer.from([0xed, 0xa0, 0x80]),
  "\u0085",
  "[1]",
  "null",
  "a,b",
  "{}",
  '{"text":1}',
  '{"prompt":"a"}',
  '{"completion":"a"}',
  '{"prompt":null,"completion":"a"}',
  '{"prompt":"a","completion":["b"]}',
  '{"messages":{}}',
  '{"messages":[]}',
  '{"messages":[null]}',
  '{"messages":[{"role":"user","content":"a"},{"role":"bot","content":"b"}]}',
  '{"messages":[{"role":["user"],"content":"a"}]}',
  '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}',
  '{"messages":[{"role":"user","content":[{"type":"text"}]}]}',
  '{"messages":[{"role":"user","content":["a"]}]}',
  '{"messages":[{"role":"user","content":[{"type":["é"]}]}]}',
  '{"messages":[{"role":"user"}]}',
  '{"messages":[{"role":"function","name":"f","content":"1"}]}',
  '{"messages":[{"role":"assistant","function_call":{"name":"f","arguments":""}}]}',
  '{"messages":[{"role":"assistant","refusal":"no"}]}',
  '{"messages":[{"role":"assistant","content":null,"tool_calls":[]}]}',
  '{"messages":[{"role":"assistant","tool_calls":{}}]}',
  '{"messages":[{"role":"user","content":"a","tool_calls":[{}]}]}',
  '{"messages":[{"role":"assistant","tool_calls":[{"type":"custom","function":{"name":"f"}}]}]}',
  '{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":1}}]}]}',
  '{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[1]"}}]}]}',
  '{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":7}}]}]}',
  '{"text":"a","functions":[{}]}',
  '{"text":"a","tools":{}}',
  '{"text":"a","tools":[{"type":"function","function":{"name":"f"}},{"function":{"name":"f"}}]}',
  '{"text":"a","tools":[{"type":"function","function":{"name":"f","parameters":[]}}]}',
  '{"text":"a","tools":[{"type":"function","function":{"name":"f"}}]}',
  '{"messages":[{"role":"user","content":"a"}]}',
  '{"messages":[{"role":"tool","content":"a"}]}',
  '{"messages":[{"role":"assistant","content":"a","tool_calls":[{}]}]}',
  '{"text":"a","tools":[{}]}',
  '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"a","weight":0}]}',
  '{"messages":[{"role":"assistant","content":"a","weight":0.5},{"role":"bot"}]}',
  '{"messages":[{"role":"assistant","content":"a","weight":true},{"role":"Human"}]}',
  '{"messages":[{"role":"assistant","content":"a","weight":"é"}]}',
  '{"messages":[{"role":"assistant","content":"a","loss":"no"}]}',
  '{"messages":[{"role":"assistant","content":"a","loss_mask":2}]}',
  '{"messages":[{"role":"assistant","content":"a","loss":null,"train_detail":[{"é":1}]}]}',
  '{"messages":[{"role":"assistant","content":"a","masked":true}]}',
  '{"messages":[{"role":"é","content":"a"}]}',
  '{"system":7,"messages":[{"role":"assistant","content":"a"}]}',
  '{"system_prompt":"a","messages":[{"role":"developer","content":"b"}]}',
  '{"prompt":[],"completion":"a"}',
  '{"prompt":"a","completion":[{"role":"user","content":"a"}]}',
  '{"prompt":"a","completion":[{"role":"user","content":"b"},{"role":"assistant","content":""}]}',
  '{"prompt":"a","completion":[{"role":"assistant","content":"b","weight":0}]}',
];
const CSV: [string, string][] = [
  ["first.jsonl", "prompt,completion"],
  ["first.txt", '"a question?"\t"7"'],
  ["first.csv", "prompt"],
  ["prose.txt", "Once, there was a king;"],
  ["brace.jsonl", '{"text":"a",b'],
];
const GOOD = [
  '\ufeff{"text":"é\u2028"}\r',
  "\u00a0\u3000",
  `{"text":"\\ud800","more":${"1".repeat(5000)},"tools":[]}`,
  '{"prompt":"a","completion":""}',
  '{"messages":[{"role":"assistant","content":"a","tool_calls":[]}],"text":1}',
].join("\n");

const ASKED = { role: "user", content: "a" };
const [GOOD_ANSWER, OTHER] = ["b", "c"].map((content) => ({ role: "assistant", content }));
const CALL = { role: "assistant", tool_calls: [{ function: { name: "f", arguments: "{}" } }] };
const TOOLS = [{ type: "function", function: { name: "f" } }];
const UNLEARNED = { ...GOOD_ANSWER, loss: false };
const SYSTEM = { role: "system", content: "s" };
const CONVERSATIONS: object[] = [
  { messages: [ASKED, UNLEARNED, ASKED, OTHER], system: "s", label: null },
  { messages: [SYSTEM, ASKED, OTHER], system_prompt: [{ type: "text", text: "s" }] },
  ...[{ loss_mask: 0 }, { train: false }, { trainable: false }, { masked: true }].map((mark) => ({
    messages: [
      { ...GOOD_ANSWER, ...mark },
      { ...OTHER, loss: 1, masked: false },
    ],
  })),
  { prompt: [ASKED, OTHER, ASKED], completion: [GOOD_ANSWER, ASKED, UNLEARNED], tools: TOOLS },
  { prompt: "a", completion: "b", system: "s", messages: null },
  { prompt: "a ", completion: [SYSTEM, ASKED, GOOD_ANSWER] },
  { prompt: [SYSTEM, ASKED], completion: [ASKED, GOOD_ANSWER] },
];
const PAIRS: object[] = [
  { prompt: "a", chosen: "b", rejected: "é" },
  { prompt: [ASKED, OTHER, ASKED], chosen: [GOOD_ANSWER], rejected: [OTHER, ASKED, OTHER] },
  { chosen: [ASKED, GOOD_ANSWER], rejected: [ASKED, OTHER] },
  { prompt: "a", chosen: [CALL], rejected: "c", tools: TOOLS },
  {
    input: { messages: [ASKED], tools: TOOLS, parallel_tool_calls: true },
    preferred_output: [GOOD_ANSWER],
    non_preferred_output: [{ ...OTHER, weight: 1 }],
  },
  { prompt: "a", chosen: [{ ...OTHER, weight: 0 }, ASKED, OTHER], rejected: "b" },
  { prompt: "a", chosen: [ASKED, GOOD_ANSWER], rejected: [ASKED, OTHER], messages: null },
  { prompt: "a", chosen: [SYSTEM, ASKED, GOOD_ANSWER], rejected: [SYSTEM, ASKED, OTHER] },
  { prompt: [SYSTEM, ASKED], chosen: [ASKED, GOOD_ANSWER], rejected: [ASKED, OTHER] },
  { prompt: [ASKED], chosen: [ASKED, GOOD_ANSWER], rejected: [ASKED, OTHER], system: "s" },
  { prompt: "a", chosen: [ASKED, GOOD_ANSWER], rejected: "c" },
];
const BAD_PAIRS: object[] = [
  {},
  { prompt: "a", chosen: "b" },
  { prompt: "a", rejected: "b" },
  { prompt: "a", chosen: "b", rejected: "b" },
  { prompt: "a", chosen: "b", rejected: " " },
  { prompt: "a", chosen: [ASKED], rejected: "b" },
  { prompt: null, chosen: "b", rejected: "c" },
  { prompt: [{ role: "bot" }], chosen: "b", rejected: "c" },
  { chosen: "b", rejected: "c" },
  { chosen: [ASKED, OTHER], rejected: [ASKED, OTHER] },
  { chosen: [ASKED, OTHER], rejected: [ASKED] },
  { chosen: [GOOD_ANSWER], rejected: [OTHER] },
  { chosen: [ASKED, OTHER], rejected: 1 },
  { prompt: "a", completion: "b", label: true },
  { prompt: "a", completion: "b" },
  { text: "a" },
  { input: [], preferred_output: [], non_preferred_output: [] },
  { input: {}, preferred_output: [GOOD_ANSWER], non_preferred_output: [OTHER] },
  { input: { messages: [ASKED], tools: {} }, preferred_output: [], non_preferred_output: [] },
  { input: { messages: [ASKED] }, preferred_output: [GOOD_ANSWER] },
  { prompt: "a", chosen: "b", rejected: "c", weight: 0 },
  { prompt: "a", chosen: "b", rejected: [{ ...OTHER, weight: 0 }] },
  { prompt: [], chosen: "b", rejected: "c" },
  { prompt: "a", chosen: [], rejected: 3 },
  { prompt: "a", chosen: [SYSTEM, ASKED, GOOD_ANSWER], rejected: "c" },
];
const JUDGED: object[] = [
  { prompt: "a", completion: "b", label: true },
  { prompt: [ASKED, OTHER, ASKED], completion: [GOOD_ANSWER], label: "False" },
  { prompt: "a", completion: "b", label: 1 },
  { prompt: "a", completion: "b", label: "0" },
  { messages: [ASKED, GOOD_ANSWER], label: false, tools: TOOLS },
  { prompt: "a", completion: [SYSTEM, ASKED, GOOD_ANSWER], label: true, chosen: null },
  { messages: [ASKED, GOOD_ANSWER], label: 0, system: "s" },
];
const BAD_JUDGED: object[] = [
  {},
  { prompt: "a", chosen: "b", rejected: "c" },
  { prompt: "a", completion: "b" },
  ...[2, null, "yes", [true], 0.5].map((label) => ({ prompt: "a", completion: "b", label })),
  { completion: "b", label: true },
  { prompt: "a", label: true },
  { prompt: "a", completion: "", label: true },
  { messages: [ASKED], label: true },
  { messages: [OTHER], label: true },
  { messages: [], label: true },
];

const scratch = createScratch();
afterAll(() => scratch.remove());

it.runIf(hasRay)("refuses a row at a path or a URL on the cluster in the words of Kit here", () => {
  const first = Buffer.from('{"text":"first"}\n\n');
  const paths = BAD.map((row, i) =>
    scratch.file(`bad ${i}.jsonl`, Buffer.concat([first, Buffer.from(row)])),
  );
  const endless = scratch.file("endless.jsonl", "");
  truncateSync(endless, ENDLESS_BYTES);
  paths.push(endless, ...CSV.map(([name, row]) => scratch.file(name, row)));
  const ours = paths.map(errorOf);
  expect(ours.map(([code]) => code)).toEqual(paths.map(() => "DATASET_INVALID"));
  const urls = paths.map((path) => pathToFileURL(path).href);
  expect(ours.filter(([, message]) => message.includes("the file is CSV"))).toHaveLength(3);
  const theirs = readThere([...paths, ...urls]) as [code: string, message: string][];
  const told = ours.map(withoutJsonProblem);
  expect(theirs.slice(0, paths.length).map(withoutJsonProblem)).toEqual(told);
  expect(theirs.slice(paths.length).map(withoutJsonProblem)).toEqual(
    told.map(([code, message], i) => [code, atUrl(message.replace(paths[i]!, urls[i]!))]),
  );
});

/** Workers know no columns. */
function atUrl(message: string): string {
  return message.replace(constants.otherNames, constants.otherNamesAtUrl);
}

/** Each says what its parser found, and where in the line if that is known. */
function withoutJsonProblem([code, message]: [code: string, message: string]): [string, string] {
  return [code, message.replace(/(\.\w+:\d+)(?::\d+)?: not valid JSON.*/, "$1: not valid JSON")];
}

it.runIf(hasRay)(
  "notes there the keys that Kit ignores in rows at a URL, in the words of Kit here",
  () => {
    const messages = [
      { role: "user", content: "a", name: "Ann", weight: 0, loss: false, train: true },
      { role: "assistant", content: "b", weight: 1, refusal: null, name: "Bo", loss: 1, 'k"': 1 },
    ];
    const more = Object.fromEntries(Array.from("defghij", (key) => [key, [key]]));
    const many = Array.from({ length: 1_000 }, (_, id) => ({ text: "t", id, tools: [] }));
    const rows = [
      { messages, tools: [], id: null, text: "t", system: [{ type: "text", text: "s" }] },
      ...many,
      { text: "t", ...more },
    ];
    const path = scratch.file("keys.jsonl", jsonl(rows));
    const notes: string[] = [];
    expect([...readRows(path, ROW_FORM, { onNote: (text) => notes.push(text) })]).toHaveLength(
      rows.length,
    );
    expect(notes).toEqual([
      `ignoring keys in ${path}: "text" of 1 row, "train" of 1 message, "k\\"" of 1 message, "id" of 1,000 rows, "d" of 1 row, "e" of 1 row, "f" of 1 row, "g" of 1 row, and others`,
    ]);
    // Kit here has told those of a path.
    const [there, atUrl] = readThere([path, pathToFileURL(path).href]) as unknown[][];
    expect(there).toHaveLength(rows.length);
    expect(atUrl?.at(-1)).toBe(notes[0]?.replace(path, "the dataset"));
  },
);

it.runIf(hasRay).each<[string, RowForm<object>, object[], object[]]>([
  ["pairs", PAIR_FORM, PAIRS, BAD_PAIRS],
  ["judged", JUDGED_FORM, JUDGED, BAD_JUDGED],
])("reads and refuses %s there as here", (kind, form, good, bad) => {
  const rows = scratch.file("good.jsonl", jsonl(good));
  const ours = [...readRows(rows, form)];
  expect(ours).toHaveLength(good.length);
  const [theirs] = readThere([rows], kind);
  expect(withoutNull(theirs)).toEqual(withoutNull(ours));
  const paths = bad.map((row, i) => scratch.file(`bad ${i}.jsonl`, jsonl([good[0]!, row])));
  const told = paths.map((path) => errorAs(form, path));
  expect(told.map(([code]) => code)).toEqual(paths.map(() => "DATASET_INVALID"));
  expect(readThere(paths, kind)).toEqual(told);
});

it.runIf(hasRay)("reads conversations there as here, in whichever form", () => {
  const path = scratch.file("conversations.jsonl", jsonl(CONVERSATIONS));
  const ours = [...readRows(path, ROW_FORM)].map((row) => "messages" in row && row.messages);
  const [theirs] = readThere([path]) as [unknown, unknown, unknown][][];
  expect(withoutNull(theirs?.map(([, messages]) => messages))).toEqual(withoutNull(ours));
});

/** As JSON without keys that are null. */
function withoutNull(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, one: unknown) => (one === null ? undefined : one));
}

it.runIf(hasRay)("reads there what Kit reads here, and says why it cannot", () => {
  const good = scratch.file("good rows.jsonl", GOOD);
  expect([...readRows(good, ROW_FORM)]).toHaveLength(4);
  const folder = join(scratch.root, "folder");
  mkdirSync(folder);
  const urls = [good, join(scratch.root, "gone.jsonl"), folder].map(
    (path) => pathToFileURL(path).href,
  );
  const why = (url: string, reason: string) => [
    "DATASET_UNREADABLE",
    `The training cannot read the dataset ${url}: ${reason}. Check that the file is there, and that every worker may read it.`,
  ];
  const rows = [
    ["text", null, "é\u2028"],
    ["text", null, "\ufffd"],
    ["prompt, completion", expect.any(Array), ""],
    ["messages", [{ role: "assistant", content: "a" }], ""],
  ];
  expect(readThere([good, ...urls, "nothing://a/b"])).toEqual([
    rows,
    [...rows, 'ignoring keys in the dataset: "more" of 1 row, "text" of 1 row'],
    why(urls[1]!, "there is no such file"),
    why(urls[2]!, "it is a folder, not a file"),
    why("nothing://a/b", "Unrecognized filesystem type in URI: nothing://a/b"),
  ]);
});

function errorOf(path: string): [code: string, message: string] {
  return errorAs(ROW_FORM, path);
}

function errorAs(form: RowForm<object>, path: string): [code: string, message: string] {
  try {
    return ["", `${[...readRows(path, form)].length} rows`];
  } catch (error) {
    const { code, message } = error as KitError;
    return [code, message];
  }
}

function readThere(files: string[], kind = "rows"): unknown[] {
  const words = ["-B", PROGRAM, ENGINE, kind, ...files];
  return JSON.parse(execFileSync(PYTHON, words, { encoding: "utf8" })) as unknown[];
}
