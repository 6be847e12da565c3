import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { randomWeights } from "../../../../engines/families/randomWeights.ts";
import { openConversation } from "../../../../engines/tokens/byteChat.ts";
import { SPECIALS } from "../../../../engines/tokens/byteTokens.ts";
import type { EngineModel } from "../../../../protocol/engine.ts";
import type { EngineEvent } from "../../../../protocol/event.ts";
import type { InferResult } from "../../../../protocol/infer.ts";
import { createEmbeddedEngine } from "../built.ts";
import { referenceText } from "../llama.ts";
import { ROWS, run, tinyConfig } from "../run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../scratch.ts";
import { TINY, tinyWeights } from "../tiny.ts";

const LEARNING = { maxSteps: 150, batchSize: 16, loggingSteps: 50, saveSteps: 150 };

function ask(content: string) {
  return { messages: [{ role: "user" as const, content }] };
}

function randomModel(): string {
  const path = join(scratchDirectory(), "model");
  saveModel(path, tinyWeights(), { shape: TINY, promptStyle: "message" });
  return path;
}

test("a trained model answers what it has learned, as a conversation and as a bare prompt", async () => {
  const { directory } = await run(tinyConfig(LEARNING));
  const model = await createEmbeddedEngine().load(join(directory, "artifacts/step-150"));
  const answers: string[] = [];
  for (const { prompt } of ROWS) answers.push((await model.infer(ask(prompt))).text);
  expect(answers).toEqual(ROWS.map(({ completion }) => completion));
  expect(await model.infer({ prompt: "1+2" })).toEqual({
    text: "3",
    finishReason: "stop",
    promptTokens: 7,
    tokens: 1,
  });
  await model.close();
});

test("a model that has learned texts continues a bare prompt", async () => {
  const path = scratchFile("train.jsonl", jsonl([{ text: "abcdefgh" }]));
  const dataset = { type: "jsonl", path } as const;
  const { directory } = await run(
    tinyConfig({ ...LEARNING, maxSteps: 60, saveSteps: 60, dataset }),
  );
  const model = await createEmbeddedEngine().load(join(directory, "artifacts/step-60"));
  expect(await model.infer({ prompt: "abcd" })).toMatchObject({
    text: "efgh",
    finishReason: "stop",
  });
  await model.close();
});

test("greedy text is what Llama's definition gives without a cache", async () => {
  const directory = randomModel();
  const expected = referenceText(directory, openConversation(ask("a question").messages), 20);
  expect(expected.length).toBeGreaterThan(5);
  const model = await createEmbeddedEngine().load(directory);
  const { text } = await model.infer({ ...ask("a question"), maxTokens: 20 });
  expect(text).toBe(expected);
  await model.close();
});

test("an answer is made of bytes alone, even of a model that prefers other ids", async () => {
  const weights = tinyWeights();
  const embedding = weights["model.embed_tokens.weight"]?.data.fill(0);
  const row = Float32Array.from({ length: TINY.width }, (_, i) => i + 1);
  // Whatever the sign of the last state, an id that is no byte has the highest score.
  embedding?.set(row, SPECIALS.assistant * TINY.width);
  embedding?.set(row, SPECIALS.user * TINY.width);
  embedding?.set(
    row.map((value) => -value),
    SPECIALS.system * TINY.width,
  );
  const path = join(scratchDirectory(), "model");
  saveModel(path, weights, { shape: TINY, promptStyle: "message" });
  const model = await createEmbeddedEngine().load(path);
  const { text, tokens } = await model.infer({ ...ask("q"), maxTokens: 1 });
  expect({ text, tokens }).toEqual({ text: "\u0000", tokens: 1 });
  await model.close();
});

test("sampling is decided by its seed", async () => {
  const model = await createEmbeddedEngine().load(randomModel());
  const text = async (seed: number) =>
    (await model.infer({ ...ask("q"), temperature: 1, seed, maxTokens: 12 })).text;
  const first = await text(1);
  expect(await text(1)).toBe(first);
  expect(await text(2)).not.toBe(first);
  await model.close();
});

test("generating ends at maxTokens, or where the context ends", async () => {
  const model = await createEmbeddedEngine().load(randomModel());
  const request = { ...ask("q"), temperature: 5, seed: 3 };
  expect(await model.infer({ ...request, maxTokens: 2 })).toMatchObject({
    finishReason: "length",
    tokens: 2,
  });
  // The prompt is bos, user, q, eos, assistant.
  const { finishReason, tokens } = await model.infer(request);
  expect(finishReason === "stop" ? tokens < 43 : tokens === 43).toBe(true);
  await model.close();
});

test("a prompt that is longer than the context is a clear error", async () => {
  const model = await createEmbeddedEngine().load(randomModel());
  await expect(model.infer({ prompt: "x".repeat(48) })).rejects.toThrow(
    /^The prompt is too long: its 52 tokens leave no room for an answer, and this model's maximum context length is 48 tokens\./,
  );
  await model.close();
});

test("loading what is no checkpoint is a clear error, and another load then works", async () => {
  const engine = createEmbeddedEngine();
  await expect(engine.load(scratchDirectory())).rejects.toMatchObject({
    code: "CHECKPOINT_INVALID",
    message: expect.stringContaining("Pass the directory of a model"),
  });
  const model = await engine.load(randomModel());
  await model.close();
  await model.close();
  await expect(model.infer({ prompt: "x" })).rejects.toThrow("The model was closed");
});

test("a request that is aborted rejects with the reason, and the others are answered", async () => {
  const model = await createEmbeddedEngine().load(randomModel());
  const reason = new Error("too slow");
  const controller = new AbortController();
  const request = { ...ask("q"), temperature: 5, maxTokens: 8 };
  const expected = await model.infer(request);
  const aborted = model.infer({ ...request, signal: controller.signal });
  const next = model.infer(request);
  controller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  await expect(model.infer({ ...request, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(await next).toEqual(expected);
  await model.close();
});

test("a checkpoint answers while training goes on", async () => {
  const engine = createEmbeddedEngine();
  const directory = scratchDirectory();
  const controller = new AbortController();
  const order: string[] = [];
  let answer: Promise<InferResult> | undefined;
  let steps = 0;
  const training = engine.train({
    config: tinyConfig({ maxSteps: 1_000_000, saveSteps: 5, loggingSteps: 1 }),
    directory,
    signal: controller.signal,
    onEvent: (event: EngineEvent) => {
      if (event.event === "training.log") steps++;
      if (event.event !== "checkpoint.saved" || answer) return;
      const before = steps;
      answer = engine.load(join(directory, event.data.path)).then(async (model: EngineModel) => {
        const result = await model.infer({ ...ask("1+1"), maxTokens: 4 });
        await model.close();
        order.push(steps > before ? "trained meanwhile" : "stood still");
        controller.abort(new Error("seen enough"));
        return result;
      });
    },
  });
  await expect(training).rejects.toThrow("seen enough");
  expect((await answer)?.tokens).toBeGreaterThanOrEqual(0);
  expect(order).toEqual(["trained meanwhile"]);
});

test("a process that has trained and answered ends by itself", async () => {
  const script = `
    const { createEmbeddedEngine } = await import(${JSON.stringify(new URL("../../../../dist/engines/embedded/index.js", import.meta.url).href)});
    const engine = createEmbeddedEngine();
    const [config, directory] = JSON.parse(process.argv[1]);
    const signal = new AbortController().signal;
    await engine.train({ config, directory, signal, onEvent() {} });
    const model = await engine.load(directory + "/artifacts/step-6");
    await model.infer({ prompt: "1+1", maxTokens: 2 });
    console.log("answered");
  `;
  const data = JSON.stringify([tinyConfig(), scratchDirectory()]);
  const args = ["--input-type=module", "--eval", script, data];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe("answered\n");
});

test("a closed model's memory is the system's again", async () => {
  const shape = dimensionsOf({ layers: 1, heads: 4, width: 512, context: 64 });
  const path = scratchDirectory();
  saveModel(path, randomWeights(shape, 1), { shape, promptStyle: "message" });
  const script = `
    const { createEmbeddedEngine } = await import(${JSON.stringify(new URL("../../../../dist/engines/embedded/index.js", import.meta.url).href)});
    const engine = createEmbeddedEngine();
    const grown = [];
    for (let i = 0; i < 14; i++) {
      const model = await engine.load(process.argv[1]);
      await model.infer({ prompt: "1+1", maxTokens: 1 });
      await model.close();
      grown.push(process.memoryUsage.rss() / 2 ** 20);
    }
    console.log(Math.round(grown.at(-1) - grown[3]));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--input-type=module", "--eval", script, path],
  ]);
  const { size } = statSync(join(path, "model.safetensors"));
  // It kept all ten.
  expect(Number(stdout)).toBeLessThan((4 * size) / 2 ** 20);
});

test("importing the engine starts no thread and reads no kernels", async () => {
  const script = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { readFileSync } = fs;
    fs.readFileSync = (file, ...rest) => {
      if (String(file).endsWith(".wasm")) throw new Error("the kernels were read");
      return readFileSync(file, ...rest);
    };
    syncBuiltinESMExports();
    await import(${JSON.stringify(new URL("../../../../dist/engines/embedded/index.js", import.meta.url).href)});
    console.log(process.getActiveResourcesInfo().includes("Worker"));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--input-type=module", "--eval", script],
  ]);
  expect(stdout).toBe("false\n");
});

test("a number beyond all floats in a schema is refused, and becomes no null", async () => {
  const path = scratchDirectory();
  saveModel(path, tinyWeights(), { shape: TINY, promptStyle: "message" });
  const model = await createEmbeddedEngine().load(path);
  const schemas = [{ const: Infinity }, { enum: [1, { a: [-Infinity] }] }, { maximum: Infinity }];
  for (const schema of schemas) {
    await expect(model.infer({ prompt: "a", schema })).rejects.toThrow(
      /Kit can't enforce this part/,
    );
  }
  await model.close();
});

test("a request that is too deep to be passed on is refused, and the next is answered", async () => {
  const path = scratchDirectory();
  saveModel(path, tinyWeights(), { shape: TINY, promptStyle: "message" });
  const model = await createEmbeddedEngine().load(path);
  let schema: object = { type: "string" };
  for (let depth = 0; depth < 10_000; depth++) schema = { items: schema };
  await expect(model.infer({ prompt: "a", schema: { ...schema } })).rejects.toMatchObject({
    code: "REQUEST_INVALID",
    message: expect.stringContaining("too deep") as string,
  });
  expect(await model.infer({ prompt: "a", maxTokens: 1 })).toMatchObject({ promptTokens: 5 });
  await model.close();
});
