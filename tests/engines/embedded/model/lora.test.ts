import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEmbeddedEngine } from "../built.ts";
import { tensorReader } from "../llama.ts";
import { artifactNames, losses, run, tinyConfig } from "../run.ts";

const LORA = { r: 4, alpha: 8, targetModules: ["q_proj", "v_proj", "gate_proj"] };

test("an adapter is trained on a frozen base, which is saved beside it", async () => {
  const config = tinyConfig({ lora: LORA, maxSteps: 40, saveSteps: 40, batchSize: 16 });
  const { directory, events, artifacts } = await run(config);
  // Per projection r · (in + out), the feed-forward being 48 wide.
  expect(events[0]?.data).toMatchObject({ parameters: 4 * (32 + 32 + 64) });
  expect(artifacts).toEqual([{ step: 40, kind: "adapter", path: "artifacts/step-40" }]);
  expect(artifactNames(directory)).toEqual(["base", "step-40"]);
  const [first = NaN] = losses({ events }) as number[];
  expect(losses({ events }).at(-1)).toBeLessThan(first - 0.1);

  const file = readFileSync(join(directory, "artifacts/step-40/adapter_model.safetensors"));
  const tensor = tensorReader(file);
  const updated = tensor("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight").flat();
  expect(updated.some((value) => value !== 0)).toBe(true);
  expect(() => tensor("base_model.model.model.layers.0.self_attn.k_proj.lora_B.weight")).toThrow();
});

test("an adapter on a checkpoint leaves it as it was, and answers with it", async () => {
  const base = await run(tinyConfig({ maxSteps: 150, batchSize: 16, saveSteps: 150 }));
  const model = join(base.directory, "artifacts/step-150");
  const before = readFileSync(join(model, "model.safetensors"));
  const { directory } = await run(tinyConfig({ model, lora: LORA, learningRate: 1e-6 }));
  expect(artifactNames(directory)).toEqual(["step-3", "step-6"]);
  expect(readFileSync(join(model, "model.safetensors")).equals(before)).toBe(true);
  const config: unknown = JSON.parse(
    readFileSync(join(directory, "artifacts/step-6/adapter_config.json"), "utf8"),
  );
  expect(config).toMatchObject({ base_model_name_or_path: model });
  const loaded = await createEmbeddedEngine().load(join(directory, "artifacts/step-6"));
  expect(await loaded.infer({ prompt: "2+3" })).toMatchObject({ text: "5", finishReason: "stop" });
  await loaded.close();

  // An adapter as the starting point is merged, and then saved as a base of its own.
  const third = await run(tinyConfig({ model: join(directory, "artifacts/step-6"), lora: LORA }));
  expect(artifactNames(third.directory)).toEqual(["base", "step-3", "step-6"]);
});

test.each([
  [
    ["qproj"],
    '"lora.targetModules" must be "all-linear" or name some of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, but has "qproj".',
  ],
  [[], "down_proj, but is empty."],
])("targets of %j are an error that names those there are", async (targetModules, message) => {
  await expect(run(tinyConfig({ lora: { ...LORA, targetModules } }))).rejects.toThrow(message);
});
