import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import type { Engine } from "../../../protocol/engine.ts";
import { runKit } from "../../kit.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { jsonl } from "../embedded/scratch.ts";
import {
  type WarmPython,
  ENGINE_FOLDER,
  ENV,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "../python/environment.ts";
import { createScratch } from "../scratch.ts";
import { blocksOf, createSource } from "../tokens/source.ts";
import { REAL_WEIGHTS, TICKETS, hasRealWeights, tune } from "./realWeights.ts";

const VOCABULARY = 49_152;
/** Blocks of 100 texts. */
const TEXT_BLOCKS = 100;
const QUESTIONS = [
  "What is the capital of France?",
  "Who wrote Romeo and Juliet?",
  "What is 2 + 2?",
  "Name a fruit that is red.",
  "Translate 'good morning' into Spanish.",
  "What color is the sky?",
  "How many legs does a spider have?",
  "Write one word that rhymes with cat.",
  "What do bees make?",
  "Which planet is closest to the sun?",
  "Is water wet?",
  "Say hello.",
  "What is the opposite of hot?",
  "Give me a synonym for happy.",
  "What year did World War II end?",
  "Name an animal that can fly.",
  "What is H2O?",
  "Complete: Once upon a",
  "How do you spell 'necessary'?",
  "日本の首都はどこですか？",
];
const MAX_TOKENS = 10;
const TRAINING_ROWS = fileURLToPath(
  new URL("../../../templates/finetune/data/train.jsonl", import.meta.url),
);
/** 200 texts, of a few words each. */
const ROWS = readFileSync(TRAINING_ROWS, "utf8")
  .trim()
  .split("\n")
  .map((line) => (JSON.parse(line) as { prompt: string }).prompt.split(" ").slice(0, 4).join(" "));
/** Of a step that changes nothing. */
const STILL = { maxSteps: 1, batchSize: 25, learningRate: 1e-12 };
const LOSS_NEAR = 2e-4;

/** What `reference.py` prints. */
interface Reference {
  answers: string[];
  loss: number;
  /** Digests of the ids of 10,000 texts. */
  tokens: string[];
}

describe.runIf(hasPython && hasRealWeights)("on real weights", () => {
  const scratch = createScratch();
  let warm: WarmPython;
  let reference: Reference;

  beforeAll(async () => {
    warm = await startWarmPython();
    const asked = { questions: QUESTIONS, rows: ROWS, maxTokens: MAX_TOKENS };
    const program = new URL("reference.py", import.meta.url);
    reference = await printed<Reference>(program, REAL_WEIGHTS, JSON.stringify(asked));
  });
  afterAll(async () => {
    await warm.close();
    scratch.remove();
  });

  it("10,000 texts become transformers' tokens", () => {
    const { promptTokens } = openTokenizer(REAL_WEIGHTS, VOCABULARY).tokenizer;
    const source = createSource(1);
    const ids = () => promptTokens({ prompt: source.text() }, "text");
    expect(blocksOf(TEXT_BLOCKS, ids)).toEqual(reference.tokens);
  });

  it("20 questions get transformers' answers", async () => {
    expect(await answersOf(createEmbeddedEngine(), REAL_WEIGHTS, QUESTIONS)).toEqual(
      reference.answers,
    );
    expect(reference.answers[0]).toBe("The capital of France is Paris.");
  });

  it("the mean loss of 200 rows is transformers'", async () => {
    const path = scratch.file("eval.jsonl", jsonl(ROWS.map((row) => ({ text: row }))));
    const more = { ...STILL, evalDataset: { type: "jsonl", path } as const };
    const { logs } = await tune(createEmbeddedEngine(), scratch, more, [{ text: "One row" }]);
    expect(Math.abs((logs[0]?.evalLoss ?? NaN) - reference.loss)).toBeLessThan(LOSS_NEAR);
  });

  it("20 steps of an adapter have PEFT's losses, and their export answers as the adapter does", async () => {
    const [ours, theirs] = await Promise.all([
      tune(createEmbeddedEngine(), scratch),
      tune(createPythonEngine({ path: warm.path, env: ENV }), scratch),
    ]);
    const near = ours.losses.map((loss) => expect.closeTo(loss, 3) as number);
    expect(theirs.losses).toEqual(near);
    const prompts = TICKETS.map(({ prompt }) => prompt);
    const learned = TICKETS.map(({ completion }) => completion);
    expect(await answersOf(createEmbeddedEngine(), ours.adapter, prompts)).toEqual(learned);
    const to = join(scratch.directory(), "export");
    const { code, stderr } = await runKit(scratch.root, ["export", ours.adapter, to]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(await answersOf(createEmbeddedEngine(), to, prompts)).toEqual(learned);
    const program = new URL("../python/export.py", import.meta.url);
    const words = [ENGINE_FOLDER, "ask", JSON.stringify(prompts), to, ours.adapter];
    const merged = { dtype: "torch.bfloat16", missing: [], texts: learned };
    expect(await printed(program, ...words)).toEqual([expect.objectContaining(merged)]);
  });

  async function answersOf(engine: Engine, model: string, prompts: string[]): Promise<string[]> {
    const { infer, close } = await engine.load(model);
    const texts: string[] = [];
    for (const prompt of prompts) texts.push((await infer({ prompt, maxTokens: MAX_TOKENS })).text);
    await close();
    return texts;
  }

  /** The JSON that a program prints. */
  async function printed<T>(program: URL, ...words: string[]): Promise<T> {
    const child = spawn(warm.path, [fileURLToPath(program), ...words], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return JSON.parse(await text(child.stdout)) as T;
  }
});
