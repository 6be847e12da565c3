import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { saveModel } from "../../../../engines/checkpoint/checkpoint.ts";
import type { EngineEvent } from "../../../../protocol/event.ts";
import { type Hub, startHub } from "../../../hub/server.ts";
import { createEmbeddedEngine } from "../built.ts";
import { artifactNames, losses, run, tinyConfig } from "../run.ts";
import { scratchDirectory } from "../scratch.ts";
import { TINY, tinyWeights } from "../tiny.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj"] };

/** The folder of a model that Kit saved. */
function savedModel(seed: number): string {
  const directory = join(scratchDirectory(), "model");
  saveModel(directory, tinyWeights(seed), { shape: TINY, promptStyle: "message" });
  return directory;
}

/** A hub with a model, for this process, and a cache of its own. */
async function hubWith(files: string): Promise<{ hub: Hub; home: string }> {
  const hub = await startHub({ "org/tiny": { files } });
  const home = scratchDirectory();
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  vi.stubEnv("HF_HOME", home);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await hub.close();
  });
  return { hub, home };
}

test("a model of the hub trains as its folder does, and its name and commit are kept", async () => {
  const directory = savedModel(1);
  const { hub, home } = await hubWith(directory);
  const commit = hub.head("org/tiny");
  const config = tinyConfig({ model: "org/tiny", lora: LORA, learningRate: 1e-2, loggingSteps: 1 });
  const notes: string[] = [];
  const engine = createEmbeddedEngine();
  const checked = await engine.check({ config, onNote: (text) => void notes.push(text) });
  // A slow machine says how far it has come, too.
  const [first, ...others] = notes;
  expect(first).toMatch(/^downloading org\/tiny, [\d.]+ MB$/);
  for (const note of others) expect(note).toMatch(/^downloading org\/tiny: /);

  const trained = await run(config);
  expect(trained.events[0]?.data).toEqual(checked.started);
  expect(checked.started).toMatchObject({ model: "org/tiny" });
  expect(losses(trained)).toEqual(losses(await run({ ...config, model: directory })));
  expect(artifactNames(trained.directory)).toEqual(["step-3", "step-6"]);
  const interrupted = scratchDirectory();
  const adapter = join(interrupted, "artifacts/step-3");
  const [abort, reason] = [new AbortController(), new Error("enough")];
  const onEvent = ({ event }: EngineEvent) => event === "checkpoint.saved" && abort.abort(reason);
  await expect(run(config, { signal: abort.signal, onEvent }, interrupted)).rejects.toBe(reason);
  expect(JSON.parse(readFileSync(join(adapter, "adapter_config.json"), "utf8"))).toMatchObject({
    base_model_name_or_path: "org/tiny",
    revision: commit,
  });

  // The branch moves on. What began with the commit goes on with it, even from an empty cache.
  const other = savedModel(2);
  const names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];
  hub.commit(
    "org/tiny",
    Object.fromEntries(names.map((name) => [name, readFileSync(join(other, name))])),
  );
  rmSync(home, { recursive: true });
  const loaded = await engine.load(adapter);
  expect(await loaded.infer({ prompt: "2+3", maxTokens: 2 })).toMatchObject({
    finishReason: "length",
  });
  await loaded.close();
  // What another tool has left of the base is completed, too.
  const tokenizerConfig = join(
    ...[home, "hub/models--org--tiny/snapshots", commit, "tokenizer_config.json"],
  );
  rmSync(tokenizerConfig);
  await (await engine.load(adapter)).close();
  expect(existsSync(tokenizerConfig)).toBe(true);
  rmSync(home, { recursive: true });
  const resumed = await run(config, { resumeFrom: adapter });
  expect(losses(resumed)).toEqual(losses(trained).slice(3));
  const newer = await run({ ...config, maxSteps: 1 });
  expect(losses(newer)[0]).not.toEqual(losses(trained)[0]);
});

test("a model that cannot be trained here is refused before its weights are downloaded", async () => {
  const { hub } = await hubWith(savedModel(1));
  const large = { hidden_size: 4096, intermediate_size: 11_008, num_hidden_layers: 32 };
  const config = {
    ...JSON.parse(readFileSync(join(savedModel(1), "config.json"), "utf8")),
    ...large,
  };
  const files = { "model.safetensors": "" };
  const refusalOf = async (changed: object) => {
    hub.commit("org/tiny", { ...files, "config.json": JSON.stringify({ ...config, ...changed }) });
    return run(tinyConfig({ model: "org/tiny", lora: LORA })).catch((error: unknown) => error);
  };
  expect(await refusalOf({ model_type: "gpt2" })).toMatchObject({ code: "CHECKPOINT_INVALID" });
  expect(
    await refusalOf({ model_type: "gemma3", architectures: undefined, vision_config: {} }),
  ).toMatchObject({ message: expect.stringContaining("also reads images. Use a text-only model") });
  expect(await refusalOf({})).toMatchObject({ code: "OUT_OF_MEMORY" });
  // Of next to nothing each: their list alone would fill the memory.
  expect(
    await refusalOf({ num_hidden_layers: 1e9, hidden_size: 4, intermediate_size: 1 }),
  ).toMatchObject({ message: expect.stringMatching(/needs at most 10,000 as num_hidden_layers/) });
  expect(hub.requests.filter(({ to }) => to === "storage")).toEqual([]);
});

test("a download ends with the job", async () => {
  const { hub } = await hubWith(savedModel(1));
  const abort = new AbortController();
  const reason = new Error("enough");
  hub.intercept = () => {
    abort.abort(reason);
    return true;
  };
  await expect(run(tinyConfig({ model: "org/tiny" }), { signal: abort.signal })).rejects.toBe(
    reason,
  );
});
