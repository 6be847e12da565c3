import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLlamaEngine } from "../../../engines/llama/index.ts";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";
import { sayTo, startServe } from "../../serveCommand.ts";
import { describeAnswers } from "../contractAnswers.ts";
import { createEmbeddedEngine } from "../embedded/built.ts";
import { jsonl, uncounted } from "../embedded/scratch.ts";
import { PICKED, hasLlama } from "../gguf/llama.ts";
import { createScratch } from "../scratch.ts";

const scratch = createScratch();
const checkpoint = join(scratch.root, "artifacts/step-42");
const engine = createLlamaEngine({}, PICKED);
const QUESTION = { messages: [{ role: "user" as const, content: "1" }], maxTokens: 4 };

beforeAll(async () => {
  const rows = Array.from({ length: 8 }, (_, i) => ({ prompt: `${i}`, completion: `${i % 2}` }));
  const path = scratch.file("train.jsonl", jsonl(rows));
  const embedded = createEmbeddedEngine();
  const config = embedded.prepare({
    model: { layers: 1, heads: 2, width: 16, context: 48 },
    dataset: { type: "jsonl", path },
    maxSteps: 42,
    batchSize: 4,
    learningRate: 0.02,
    warmupSteps: 0,
    saveSteps: 42,
  });
  const { signal } = new AbortController();
  await embedded.train({ config, directory: scratch.root, signal, onEvent: () => undefined });
});
afterAll(scratch.remove);

describe.runIf(hasLlama)("the llama engine", () => {
  describeAnswers("llama", () => engine.load(checkpoint));

  it("answers as the embedded engine does", async () => {
    const [one, other] = [
      await engine.load(checkpoint),
      await createEmbeddedEngine().load(checkpoint),
    ];
    for (const content of ["0", "1", "6", "7"]) {
      const request = { ...QUESTION, messages: [{ role: "user" as const, content }] };
      const answers = await Promise.all([one.infer(request), other.infer(request)]);
      const [answer, expected] = answers.map(uncounted);
      expect(answer).toEqual(expected);
    }
    await Promise.all([one.close(), other.close()]);
  });

  it("makes its file once, also when two load at once", async () => {
    const models = await Promise.all([engine.load(checkpoint), engine.load(checkpoint)]);
    const made = readdirSync(join(checkpoint, ".kit-llama"));
    expect(made).toEqual([expect.stringMatching(/^own-/)]);
    const answers = await Promise.all(models.map((model) => model.infer(QUESTION)));
    expect(answers[0]).toEqual(answers[1]);
    for (const model of models) await model.close();
    await expect(models[0].infer(QUESTION)).rejects.toThrow("The model was closed");
  });
});

describe.runIf(hasLlama)("the GGUF file of the llama engine", () => {
  /** A copy of the trained model, whose files a test may change. */
  function copy(): string {
    const directory = scratch.directory();
    cpSync(checkpoint, directory, { recursive: true });
    rmSync(join(directory, ".kit-llama"), { recursive: true, force: true });
    return directory;
  }
  const madeIn = (directory: string) => readdirSync(join(directory, ".kit-llama"));

  it("has the type that is asked for, and may be loaded itself", async () => {
    const directory = copy();
    const model = await createLlamaEngine({ type: "q8_0" }, PICKED).load(directory);
    const answer = await model.infer(QUESTION);
    await model.close();
    const [folder = ""] = madeIn(directory);
    expect(folder).toMatch(/^q8_0-/);
    const file = join(directory, ".kit-llama", folder, "model.gguf");
    const itself = await engine.load(file);
    expect(uncounted(await itself.infer(QUESTION))).toEqual(uncounted(answer));
    await itself.close();
    await expect(engine.load(file, { quantize: "q8_0" })).rejects.toThrow(
      /is a GGUF file, which llama\(\) loads as it is/,
    );
  });

  it("is made again after the model has changed, and replaces the one before", async () => {
    const directory = copy();
    await (await engine.load(directory)).close();
    const before = madeIn(directory);
    utimesSync(join(directory, "model.safetensors"), 1, 1);
    await (await engine.load(directory)).close();
    const after = madeIn(directory);
    expect(after).toEqual([expect.stringMatching(/^own-/)]);
    expect(after).not.toEqual(before);
  });

  it("is refused in a sentence if it is damaged", async () => {
    const directory = copy();
    await (await engine.load(directory)).close();
    const folder = join(directory, ".kit-llama", madeIn(directory)[0]!);
    truncateSync(join(folder, "model.gguf"), 1000);
    await expect(engine.load(directory)).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: expect.stringContaining(`Delete ${folder}, and load the model again.`) as unknown,
    });
  });

  it("lets the process end once the model is closed", () => {
    const sdk = (name: string) => new URL(`../../../dist/sdk/${name}.js`, import.meta.url).href;
    const code = `
      const { loadModel } = await import(${JSON.stringify(sdk("index"))});
      const { llama } = await import(${JSON.stringify(sdk("engines"))});
      const model = await loadModel(${JSON.stringify(checkpoint)}, { engine: llama() });
      console.log((await model.infer({ prompt: "1", maxTokens: 2 })).tokens);
      await model.close();`;
    // node-llama-cpp passes Node's options on to the process that tests its binary, so --eval would fail.
    const program = scratch.file("ask.mjs", code);
    const ended = spawnSync(process.execPath, [program], { cwd: PICKED, encoding: "utf8" });
    expect(ended).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d\n$/) as string });
  });
});

describe.runIf(hasLlama)("kit serve --engine llama", () => {
  it("answers a request, and its base, with the project's node-llama-cpp", async () => {
    const project = createTinyProject(
      tinySource({ options: "learningRate: 0.1, lora: { r: 4, alpha: 8 }," }),
    );
    expect((await runKit(project, ["start"])).code).toBe(0);
    const absent = await runKit(project, ["serve", "--port", "0", "--engine", "llama"]);
    expect(absent.code).toBe(1);
    expect(absent.stderr).toMatch(/Run: npm install node-llama-cpp\n$/);
    mkdirSync(join(project, "node_modules"), { recursive: true });
    symlinkSync(
      join(PICKED, "node_modules/node-llama-cpp"),
      join(project, "node_modules/node-llama-cpp"),
    );
    const embedded = await startServe(project);
    const serve = await startServe(project, ["--engine", "llama"]);
    for (const model of ["latest", "base"]) {
      const said = await sayTo(serve, { model, max_tokens: 4 });
      expect(said.status).toBe(200);
      expect(said).toEqual(await sayTo(embedded, { model, max_tokens: 4 }));
    }
  });
});

it("only answers", () => {
  const prepare = () => engine.prepare({ dataset: { type: "jsonl", path: "x" } });
  expect(prepare).toThrow(/^llama\(\) only answers\./);
  expect(prepare).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }) as Error);
});

it("says how to install node-llama-cpp where it is absent, or of another version", async () => {
  const project = scratch.directory();
  const load = () => createLlamaEngine({}, project).load(checkpoint);
  await expect(load()).rejects.toThrow(/Run: npm install node-llama-cpp$/);
  const folder = join(project, "node_modules/node-llama-cpp");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{"type":"module","exports":"./index.js"}`);
  writeFileSync(join(folder, "index.js"), `export const getModuleVersion = async () => "2.8.0";`);
  await expect(load()).rejects.toThrow(/found 2\.8\.0\. Run: npm install node-llama-cpp@3$/);
});
