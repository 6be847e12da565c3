import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { objectiveOf } from "../../../engines/objectives/objectives.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { canonical, jsonl } from "../embedded/scratch.ts";
import { createScratch } from "../scratch.ts";
import { PYTHON, hasRay } from "./environment.ts";

const ENGINE = fileURLToPath(new URL("../../../engines/python", import.meta.url));
const PROGRAM = fileURLToPath(new URL("rows.py", import.meta.url));
/** Of a line that is too long. */
const ENDLESS_BYTES = 66 * 2 ** 20;

/** As each objective of the Python engine has them. */
const FORMS = {
  sft: ["messages", "prompt, completion", "text"],
  dpo: ["prompt, chosen, rejected"],
  kto: ["prompt, completion, label"],
};
type Type = keyof typeof FORMS;

const ASKED = { role: "user", content: "a" };
const [ANSWER, OTHER] = ["b", "c"].map((content) => ({ role: "assistant", content }));
const CALL = { role: "assistant", tool_calls: [{ function: { name: "f", arguments: "{}" } }] };
const TOOLS = [{ type: "function", function: { name: "f" } }];
const UNLEARNED = { ...ANSWER, weight: 0 };
const SYSTEM = { role: "system", content: "s" };

/** Of Kit's own forms. */
const PLAIN: Record<Type, object[]> = {
  sft: [
    { messages: [SYSTEM, ASKED, UNLEARNED, ASKED, { ...OTHER, weight: 1, name: null }] },
    { messages: [ASKED, CALL, { role: "tool", content: "1" }, OTHER], tools: TOOLS },
    { completion: "", prompt: "a", tools: [], text: null },
    { text: "é\u2028" },
  ],
  dpo: [
    { prompt: "a", chosen: "b", rejected: "é", tools: TOOLS },
    { prompt: [ASKED, OTHER, ASKED], chosen: [ANSWER], rejected: [OTHER, ASKED, OTHER] },
  ],
  kto: [
    { prompt: "a", completion: "b", label: true },
    { prompt: [ASKED], completion: [CALL], label: false, tools: TOOLS },
  ],
};
/** Of other forms that Kit reads. */
const MORE: Record<Type, object[]> = {
  sft: [
    { messages: [ASKED, OTHER], system: "s" },
    { messages: [ASKED, OTHER], id: 1 },
    { messages: [ASKED, UNLEARNED, ASKED, { ...OTHER, loss: true }] },
    { messages: [{ role: "user", content: [{ type: "text", text: "a" }] }, OTHER] },
    { prompt: "a ", completion: [SYSTEM, ASKED, ANSWER] },
  ],
  dpo: [
    { chosen: [ASKED, ANSWER], rejected: [ASKED, OTHER] },
    { prompt: "a", chosen: [ASKED, ANSWER], rejected: [ASKED, OTHER] },
    { input: { messages: [ASKED] }, preferred_output: [ANSWER], non_preferred_output: [OTHER] },
  ],
  kto: [
    { messages: [ASKED, ANSWER], label: false },
    { prompt: "a", completion: "b", label: "0" },
  ],
};
/** Of no form. */
const BAD: Record<Type, object[]> = {
  sft: [
    { prompt: "a" },
    { text: 1 },
    { text: "a", tools: TOOLS },
    { messages: [] },
    { messages: [ASKED] },
    { messages: [UNLEARNED] },
    { messages: "a" },
    { prompt: "a", completion: ["b"] },
    { prompt: "a", completion: "b", tools: [{}] },
    ...[
      ...[
        { role: "bot" },
        { content: 1 },
        { content: null },
        { weight: 0.5 },
        { tool_calls: [{}] },
      ],
      ...[{ refusal: "no" }, { tool_calls: CALL.tool_calls, role: "user" }],
    ].map((wrong) => ({ messages: [ASKED, { ...ANSWER, ...wrong }] })),
    ...[{ arguments: "[1]" }, { arguments: 7 }, { name: 1 }].map((wrong) => ({
      messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", ...wrong } }] }],
    })),
    ...PLAIN.dpo,
    ...PLAIN.kto,
  ],
  dpo: [
    { prompt: "a", chosen: "b", rejected: "b" },
    { prompt: "a", chosen: "b" },
    { prompt: "a", chosen: [UNLEARNED], rejected: "b" },
    { prompt: "a", chosen: " ", rejected: "b" },
    { prompt: [], chosen: "b", rejected: "c" },
    ...PLAIN.sft,
    ...PLAIN.kto,
  ],
  kto: [
    { prompt: "a", completion: "b" },
    { prompt: "a", completion: "", label: true },
    { prompt: "a", completion: [ASKED], label: true },
    ...[2, null, "yes", [true]].map((label) => ({ prompt: "a", completion: "b", label })),
    ...PLAIN.dpo,
    ...PLAIN.sft,
  ],
};
const BAD_LINES = [
  ...["{oops", "[1]", "null", "{}", "prompt,completion", "[".repeat(10_000), '{"text":"a\u0001"}'],
  // What UTF-8 and JSON do not have, whatever Python takes.
  ...['{"text":"\\ud83d"}', '{"text":NaN}', '{"prompt":"a","completion":"b","tools":[1e400]}'],
];

const scratch = createScratch();
afterAll(() => scratch.remove());
const formOf = (type: Type) => {
  const objective = type === "sft" ? undefined : ({ type } as TrainConfig["objective"]);
  return objectiveOf({ objective }).format;
};
const urlOf = (path: string) => pathToFileURL(path).href;

it.runIf(hasRay).each(["sft", "dpo", "kto"] as const)(
  "reads there the rows that Kit has written, and plain ones at a URL alike: %s",
  (type) => {
    const [plain, more] = [PLAIN, MORE].map((rows) => canonical(rows[type], formOf(type)));
    const written = [plain, plain! + more!].map((text) => scratch.file("data.jsonl", text!));
    const url = urlOf(scratch.file("plain.jsonl", `\ufeff${jsonl(PLAIN[type])}\r\n`));
    const [own, all, theirs] = readThere(type, ...written, url);
    expect(theirs).toEqual(own);
    expect(all).toEqual((plain! + more!).trim().split("\n").map(there));
  },
);

/** A row of Kit's as Python has it. */
function there(line: string) {
  const row = JSON.parse(line) as Record<string, unknown>;
  const said = (role: string, words: unknown = []) =>
    (typeof words === "string" ? [{ role, content: words }] : (words as object[])).map((one) => ({
      content: null,
      ...one,
    }));
  const answers = ["messages", "completion", "chosen", "rejected"].filter((name) => name in row);
  const conversations = answers.map((name) => [
    [...said("user", row["prompt"]), ...said("assistant", row[name])],
    row["tools"] ?? null,
    // A row gives a template no variables.
    null,
  ]);
  const [keys, text, is_undesirable] = [
    Object.keys(row).join(", "),
    row["text"] ?? "",
    row["label"] === false,
  ];
  return { keys, text, conversations, is_undesirable };
}

it.runIf(hasRay).each(["sft", "dpo", "kto"] as const)(
  "refuses any other row at a URL, with what to do: %s",
  (type) => {
    const rows = [...MORE[type], ...BAD[type]].map((row) => JSON.stringify(row));
    const lines = [...rows, ...BAD_LINES];
    const urls = lines.map((line, i) => urlOf(scratch.file(`bad ${i}.jsonl`, `\n${line}\n`)));
    const forms = FORMS[type].map((form) => `{${form}}`).join(" or ");
    const advice = `. At a URL, Kit reads only rows of ${forms}, with messages in OpenAI's format. Write them so, or download the file and use its local path.`;
    for (const [i, told] of readThere(type, ...urls).entries()) {
      expect(told, lines[i]).toEqual([expect.any(String), expect.any(String)]);
      const [code, message] = told as [string, string];
      expect([code, message.startsWith(`${urls[i]}:2:`)], lines[i]).toEqual([
        "DATASET_INVALID",
        true,
      ]);
      expect(message.endsWith(advice), message).toBe(true);
    }
  },
);

it.runIf(hasRay)("says what is wrong with a row at a URL, or why it cannot read there", () => {
  const folder = join(scratch.root, "folder");
  mkdirSync(folder);
  const endless = scratch.file("endless.jsonl", "");
  truncateSync(endless, ENDLESS_BYTES);
  const rows = [
    [{ messages: [ASKED, OTHER], id: 1 }, "has {messages, id}."],
    [{ messages: [ASKED, { role: "bot", content: "b" }] }, "messages[1] is not a plain message."],
    [{ prompt: "a", completion: "b", tools: [7] }, '"tools" is not a list of {"type":"function",'],
  ] as const;
  const latin = scratch.file("latin.jsonl", Buffer.from([0xe9]));
  const urls = [
    ...rows.map(([row], i) => scratch.file(`${i}.jsonl`, jsonl([row]))),
    endless,
    latin,
  ];
  const unread = ["gone.jsonl", "folder"].map((name) => join(scratch.root, name));
  const told = readThere("sft", ...[...urls, ...unread].map(urlOf), "nothing://a/b");
  const why = (url: string, reason: string) => [
    "DATASET_UNREADABLE",
    `Cannot read the dataset ${url}: ${reason}. Check that the file is there, and that every worker can read it.`,
  ];
  expect(told).toEqual([
    ...[...rows.map(([, problem]) => problem), "the row has more than 64 MiB.", "not UTF-8."].map(
      (problem, i) => [
        "DATASET_INVALID",
        expect.stringContaining(`${urlOf(urls[i]!)}:1: ${problem}`) as string,
      ],
    ),
    why(urlOf(unread[0]!), "there is no such file"),
    why(urlOf(unread[1]!), "it is a folder, not a file"),
    why("nothing://a/b", "Unrecognized filesystem type in URI: nothing://a/b"),
  ]);
});

function readThere(type: Type, ...files: string[]): unknown[] {
  const words = ["-B", PROGRAM, ENGINE, JSON.stringify(FORMS[type]), ...files];
  return JSON.parse(execFileSync(PYTHON, words, { encoding: "utf8" })) as unknown[];
}
