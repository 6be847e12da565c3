import { join } from "node:path";
import { expect, it } from "vitest";
import { maxAnswerTokens } from "../../../engines/training/learnedAnswers.ts";
import { findStartingPoint } from "../../../engines/training/startingPoint.ts";
import { readDataset } from "../../../engines/training/tokenizedDataset.ts";
import { CONFIG } from "../../jobs.ts";
import { createProject } from "../../project.ts";
import { saveToolModel } from "../../toolModel.ts";

const question = { role: "user", content: "Where is order 12?" };
const tool = { type: "function", function: { name: "find", parameters: { type: "object" } } };
/** Longer as the template writes it than its words are, with a number beyond 2^53. */
const CALL =
  `{"messages": [${JSON.stringify(question)}, {"role": "assistant", "tool_calls": [{"type": "function",
  "function": {"name": "find", "arguments": {"order": 2512292042121000001, "by": "number, of the order"}}}]}],
  "tools": [${JSON.stringify(tool)}]}`.replaceAll("\n", " ");
const WORDS = JSON.stringify({
  messages: [
    question,
    { role: "assistant", content: "On its way, so look again tomorrow.", weight: 0 },
    question,
    { role: "assistant", content: "Sent." },
  ],
});
const TEXT = JSON.stringify({ text: "A longer text than all of these answers are, on and on." });

function enough(...rows: string[]) {
  const folder = createProject({ "rows.jsonl": rows.join("\n") });
  saveToolModel(join(folder, "model"));
  const path = join(folder, "rows.jsonl");
  const config = {
    ...CONFIG,
    model: join(folder, "model"),
    dataset: { type: "jsonl", path } as const,
  };
  const { tokenizer } = findStartingPoint(
    { kind: "checkpoint", name: "model", directory: config.model },
    config,
  );
  const learned: number[] = [];
  readDataset(path, 512, {
    tokenizer,
    onRow: ({ sequences: [spans = []] }) =>
      learned.push(
        spans.reduce((sum, { tokens, isLearned }) => sum + (isLearned ? tokens.length : 0), 0),
      ),
  });
  return { enough: maxAnswerTokens(config, {}), learned };
}

it("is what the longest learned answer needs as the template writes it, and a quarter more", async () => {
  const both = enough(WORDS, CALL);
  const [words = 0, call = 0] = both.learned;
  expect(call).toBeGreaterThan(words);
  expect(await both.enough).toBe(Math.ceil(1.25 * call));
  const short = enough(WORDS, TEXT);
  expect(await short.enough).toBe(Math.ceil(1.25 * words));
});

it("is unknown of a job that learned texts", async () => {
  expect(await enough(TEXT).enough).toBeUndefined();
});
