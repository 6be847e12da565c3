import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PAIR_FORMAT } from "../../../../engines/dataset/pair.ts";
import { recordFormat } from "../../../../engines/dataset/records/recordFormat.ts";
import { parseRow } from "../../../../engines/dataset/row.ts";
import { API_ADVICE, inApiWords } from "../../../../server/serve/fineTuning/apiWords.ts";

const user = { role: "user", content: "1" };

it.each<[type: "supervised" | "dpo", row: Record<string, unknown>, words: string]>([
  ["supervised", { chosen: "1", rejected: "2" }, 'set method to { type: "dpo" } to learn'],
  ["supervised", { messages: [user], label: true }, "remove it, or send pairs of answers"],
  ["supervised", { question: "1" }, 'no "messages", "prompt" or "text". Write one of'],
  ["dpo", { messages: [user] }, 'a single answer, but the method "dpo" needs two'],
  ["dpo", { prompt: "1", chosen: "2", rejected: "2" }, ": both answers are the same"],
  ["dpo", { label: true }, 'a "label" is not for pairs of answers; remove it'],
  ["dpo", { question: "1" }, 'no "chosen" and "rejected". Write'],
  ["supervised", { query: "1", answers: "[]" }, 'must be {"messages":[…],"tools":[…]}'],
])("what is wrong with a row is said in the API's words: %s %j", (type, row, words) => {
  let error = "";
  try {
    recordFormat(Object.keys(row), "a.jsonl:1", { isTable: false });
    (type === "dpo" ? PAIR_FORMAT.parse : parseRow)(row, "a.jsonl:1");
  } catch (thrown) {
    error = (thrown as Error).message;
  }
  const said = inApiWords(error, type);
  expect(said).toContain(words);
  expect(said).not.toMatch(/objective|columns|\bmap\b|maxLength/);
});

it("every sentence in Kit's words is one that Kit says", () => {
  const files = execFileSync("git", ["ls-files", "engines"], { encoding: "utf8" }).split("\n");
  const sources = files.filter((file) => file.endsWith(".ts"));
  const all = sources.map((file) => readFileSync(file, "utf8")).join("\n");
  expect(Object.keys(API_ADVICE).filter((words) => !all.includes(words))).toEqual([]);
});
