import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openCheckpoint, saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import type * as decoding from "../../../../engines/embedded/infer/decoder.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { exportModel } from "../../../../engines/export/exportModel.ts";
import { EMBEDDING, HEAD } from "../../../../engines/families/projections.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { readAll, bfloat16Of } from "../../../../engines/modelFiles/tensors.ts";
import { isBfloat16, widen } from "../../../../engines/modelFiles/weights.ts";
import { openConversation } from "../../../../engines/tokens/byteChat.ts";
import { STYLES, writeTokenizer } from "../../tokens/styles.ts";
import { builtModule, createEmbeddedEngine } from "../built.ts";
import { learnerOf, logitsOf, planOf } from "../learner.ts";
import { referenceText } from "../llama.ts";
import { losses, run, tinyConfig } from "../run.ts";
import { scratchDirectory } from "../scratch.ts";
import { FAMILIES, tinyBatch, tinyTokens, tinyWeights, toBfloat16, UNTIED } from "../tiny.ts";

const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };
const PROMPT = openConversation([{ role: "user", content: "1+1" }]);
const SIZES = { rows: 2, length: 6 };
const HALVES = toBfloat16(tinyWeights(1, UNTIED));

/** A directory with the untied model in bfloat16. */
function savedModel(): string {
  const path = join(scratchDirectory(), "model");
  saveModel(path, HALVES, { shape: UNTIED, promptStyle: "message" });
  return path;
}

const configOf = (path: string) =>
  JSON.parse(readFileSync(join(path, "config.json"), "utf8")) as Record<string, unknown>;

async function answer(path: string, count: number): Promise<string> {
  const model = await createEmbeddedEngine().load(path);
  const { text } = await model.infer({ prompt: "1+1", maxTokens: count });
  await model.close();
  return text;
}

test("an adapter's base stays bfloat16 in memory and gives, to the bit, the same gradients as in float32", () => {
  const adapter = randomAdapter(LORA, UNTIED, 1);
  for (const { data } of Object.values(adapter)) data.forEach((_, i) => (data[i] = Math.sin(i)));
  const sizes = { ...SIZES, lora: LORA, adapter };
  const of = (weights: typeof HALVES) => learnerOf(weights, sizes).gradients(tinyBatch(2, 6));
  expect(of(HALVES)).toEqual(of(widen(HALVES)));

  const [half, full] = [HALVES, widen(HALVES)].map((weights) =>
    planOf(weights, sizes).arena.sizes(),
  );
  const matrices = Object.values(HALVES).filter(({ shape }) => shape.length > 1);
  const numbers = matrices.reduce((sum, { data }) => sum + data.length, 0);
  expect((full?.weights ?? 0) - (half?.weights ?? 0)).toBe(2 * numbers);
});

test("reading with bfloat16 gives, to the bit, the same logits as with float32", () => {
  expect(logitsOf(HALVES, tinyTokens(9))).toEqual(logitsOf(widen(HALVES), tinyTokens(9)));
});

test("a checkpoint of bfloat16 with a head of its own answers as Llama's definition does", async () => {
  const path = savedModel();
  expect(configOf(path)).toMatchObject({ tie_word_embeddings: false, torch_dtype: "bfloat16" });
  expect(bfloat16Of(openCheckpoint(path).weights)).toEqual(new Set(Object.keys(HALVES)));
  expect(await answer(path, 12)).toBe(referenceText(path, PROMPT, 12));
});

test("a Gemma 3 answers past its window as its definition does, also once it is trained", async () => {
  const path = join(scratchDirectory(), "model");
  const shape = FAMILIES["Gemma 3"]!;
  saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
  expect(await answer(path, 12)).toBe(referenceText(path, PROMPT, 12));
  for (const lora of [undefined, LORA]) {
    const { directory } = await run(tinyConfig({ model: path, ...(lora && { lora }) }));
    const exported = join(directory, "exported");
    await exportModel(join(directory, "artifacts/step-6"), exported);
    expect(await answer(exported, 12)).toBe(referenceText(exported, PROMPT, 12));
  }
});

test("a Gemma 3 keeps what its config says, trained whole or by an adapter", async () => {
  const path = join(scratchDirectory(), "model");
  const style = STYLES["Gemma 3"]!;
  const shape = { ...FAMILIES["Gemma 3"]!, vocabulary: style.size };
  saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
  writeTokenizer(path, style);
  const { torch_dtype: _, rope_theta: theta, ...config } = configOf(path);
  const published = {
    ...config,
    dtype: "float32",
    _sliding_window_pattern: 6,
    transformers_version: "5.18.0",
    rope_parameters: {
      full_attention: { rope_type: "default", rope_theta: theta },
      sliding_attention: { rope_type: "default", rope_theta: 30 },
    },
  };
  writeFileSync(join(path, "config.json"), JSON.stringify(published));
  const { shape: opened } = openCheckpoint(path);
  for (const lora of [undefined, LORA]) {
    const { directory } = await run(tinyConfig({ model: path, ...(lora && { lora }) }));
    const exported = join(directory, "exported");
    await exportModel(join(directory, "artifacts/step-6"), exported);
    expect(configOf(exported)).toEqual(published);
    expect(openCheckpoint(exported).shape).toEqual(opened);
  }
});

test("its weights are read by parts, each in the place of the one before, so that they are in memory once", () => {
  const { weights } = openCheckpoint(savedModel());
  const rows = vi.fn(weights.rows);
  createDecoder(compileKernels(), UNTIED, { ...weights, rows });
  const [first, ...others] = rows.mock.calls.map(([, , , room]) => room);
  expect(first).toBeDefined();
  expect(others).toHaveLength(weights.tensors.size - 1);
  for (const room of others) expect(room).toBe(first);
});

test("it is trained whole in float32, the head and the embedding each", async () => {
  const model = savedModel();
  const { directory, events } = await run(tinyConfig({ model, maxSteps: 12, saveSteps: 12 }));
  const [first = NaN] = losses({ events }) as number[];
  expect(losses({ events }).at(-1)).toBeLessThan(first - 0.1);
  const step = join(directory, "artifacts/step-12");
  expect(configOf(step)).toMatchObject({ tie_word_embeddings: false, torch_dtype: "float32" });
  const trained = readAll(openCheckpoint(step).weights);
  expect(Object.values(trained).some(isBfloat16)).toBe(false);
  for (const name of [HEAD, EMBEDDING]) {
    expect(trained[name]?.data).not.toEqual(widen(HALVES)[name]?.data);
  }
  expect(trained[HEAD]?.data).not.toEqual(trained[EMBEDDING]?.data);
  expect(await answer(step, 12)).toBe(referenceText(step, PROMPT, 12));
});

test("an adapter on it is trained; merged, only what it updates becomes float32", async () => {
  const model = savedModel();
  const { directory } = await run(tinyConfig({ model, lora: LORA }));
  const { weights } = openCheckpoint(join(directory, "artifacts/step-6"));
  const widened = Object.entries(readAll(weights)).filter(([, tensor]) => !isBfloat16(tensor));
  const names = widened.map(([name]) => name);
  expect(names).toHaveLength(UNTIED.layers * LORA.targetModules.length);
  expect(names.every((name) => /(q|down)_proj\.weight$/.test(name))).toBe(true);
  expect(bfloat16Of(weights).size).toBe(Object.keys(HALVES).length - names.length);
  // An adapter as the starting point is merged, and then saved as a base of its own.
  const next = await run(tinyConfig({ model: join(directory, "artifacts/step-6"), lora: LORA }));
  const base = join(next.directory, "artifacts/base");
  expect(await answer(join(next.directory, "artifacts/step-6"), 4)).toHaveLength(4);
  expect(await answer(base, 12)).toBe(referenceText(base, PROMPT, 12));
});
