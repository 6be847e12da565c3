import {
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { adapterFiles, openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { writeSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import type { StoredWeights, Weights } from "../../../engines/modelFiles/weights.ts";
import { learnerOf, readingOf } from "../embedded/learner.ts";
import { referenceLogits, tensorReader } from "../embedded/llama.ts";
import { scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import {
  FAMILIES,
  TINY,
  tinyBatch,
  tinyTokens,
  tinyWeights,
  mergedWeights,
} from "../embedded/tiny.ts";
import { readAll as readFile } from "./readAll.ts";

const NOTES = { shape: TINY, promptStyle: "message" } as const;
const LORA = { r: 2, alpha: 6, targetModules: ["q_proj", "down_proj"] };

function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Array.from(a, (value, i) => Math.abs(value - (b[i] ?? NaN))).reduce((x, y) =>
    Math.max(x, y),
  );
}

test("reading with a cache, in parts of any length, gives the logits of Llama's definition", () => {
  const path = join(scratchDirectory(), "step-1");
  saveModel(path, tinyWeights(), NOTES);
  const tokens = tinyTokens(TINY.context);
  const expected = referenceLogits(path, [...tokens]);
  const { read } = readingOf(tinyWeights());
  let end = 0;
  for (const count of [1, 1, 33, 1, 5, TINY.context - 41]) {
    const logits = read(tokens.subarray(end, end + count));
    end += count;
    expect(difference(logits, expected[end - 1] ?? [])).toBeLessThan(1e-4);
  }
});

test.each(Object.entries(FAMILIES))(
  "a saved %s reads, with a cache, as transformers defines it",
  (_, shape) => {
    const path = join(scratchDirectory(), "model");
    const weights = tinyWeights(1, shape);
    saveModel(path, weights, { shape, promptStyle: "message" });
    const opened = openCheckpoint(path);
    expect(opened.shape).toEqual(shape);
    const tokens = tinyTokens(shape.context);
    const expected = referenceLogits(path, [...tokens]);
    const { read } = readingOf(readAll(opened.weights), opened.shape);
    expect(difference(read(tokens.subarray(0, 40)), expected[39] ?? [])).toBeLessThan(1e-4);
    expect(difference(read(tokens.subarray(40, 41)), expected[40] ?? [])).toBeLessThan(1e-4);
  },
);

test("shards, and config.json as transformers 5 writes it, are the same model", () => {
  const path = join(scratchDirectory(), "model");
  const shape = FAMILIES["Llama 3"]!;
  const weights = tinyWeights(1, shape);
  saveModel(path, weights, { shape, promptStyle: "message" });
  const file = join(path, "config.json");
  const { rope_scaling, rope_theta, ...config } = readJson(file);
  const rope_parameters = { ...(rope_scaling as object), rope_theta };
  writeFileSync(file, JSON.stringify({ ...config, rope_parameters }));
  rmSync(join(path, "model.safetensors"));
  const names = Object.keys(weights);
  const shardOf = (name: string) =>
    `model-0000${(names.indexOf(name) % 3) + 1}-of-00003.safetensors`;
  for (const shard of new Set(names.map(shardOf))) {
    const here = Object.entries(weights).filter(([name]) => shardOf(name) === shard);
    writeFileSync(join(path, shard), Buffer.concat(writeSafetensors(Object.fromEntries(here))));
  }
  const weight_map = Object.fromEntries(names.map((name) => [name, shardOf(name)]));
  writeFileSync(join(path, "model.safetensors.index.json"), JSON.stringify({ weight_map }));
  const opened = openCheckpoint(path);
  expect(opened.shape).toEqual(shape);
  expect(readAll(opened.weights)).toEqual(weights);
});

function readJson(path: string) {
  return JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
}

test("the directory has the files that transformers reads", () => {
  const path = join(scratchDirectory(), "step-1");
  saveModel(path, tinyWeights(), { ...NOTES, state: { global_step: 1 } });
  expect(readdirSync(path).toSorted()).toEqual([
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "trainer_state.json",
  ]);
  const config: unknown = JSON.parse(readFileSync(join(path, "config.json"), "utf8"));
  expect(config).toMatchObject({
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    hidden_size: 8,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    head_dim: 4,
    intermediate_size: 32,
    max_position_embeddings: 48,
    vocab_size: 264,
    tie_word_embeddings: true,
    eos_token_id: 258,
  });
});

test("the safetensors header is JSON padded to 8 bytes, with PyTorch's mark and Llama's names", () => {
  const file = Buffer.concat(writeSafetensors(tinyWeights()));
  const length = Number(file.readBigUInt64LE());
  expect(length % 8).toBe(0);
  const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  const { __metadata__: metadata, ...entries } = header;
  expect(metadata).toEqual({ format: "pt" });
  const block = (layer: number) =>
    [
      ...["input_layernorm", "post_attention_layernorm"],
      ...["q", "k", "v", "o"].map((name) => `self_attn.${name}_proj`),
      ...["gate", "up", "down"].map((name) => `mlp.${name}_proj`),
    ].map((name) => `model.layers.${layer}.${name}.weight`);
  expect(Object.keys(entries).toSorted()).toEqual(
    ["model.embed_tokens.weight", "model.norm.weight", ...block(0), ...block(1)].toSorted(),
  );
  expect(entries["model.layers.1.mlp.down_proj.weight"]).toMatchObject({
    dtype: "F32",
    shape: [8, 32],
  });
  // The data follows without a gap or an overlap.
  let end = 0;
  for (const { shape, data_offsets } of Object.values(entries)) {
    const bytes = shape.reduce((product, size) => product * size) * 4;
    expect(data_offsets).toEqual([end, end + bytes]);
    end += bytes;
  }
  expect(file.length).toBe(8 + length + end);
  expect(readFile(scratchFile("model.safetensors", file))).toEqual(tinyWeights());
});

test.each([
  ["cut off", (file: Buffer) => file.subarray(0, -4), /is truncated, at/],
  ["cut off in its header", (file: Buffer) => file.subarray(0, 40), /is truncated/],
  ["empty", () => Buffer.alloc(0), /is not a safetensors file/],
  ["of another kind", () => Buffer.from("version https://git-lfs"), /is not a safetensors file/],
])("a weights file that is %s is a clear error", (_, damage, message) => {
  const path = join(scratchDirectory(), "step-1");
  saveModel(path, tinyWeights(), NOTES);
  const file = join(path, "model.safetensors");
  writeFileSync(file, damage(readFileSync(file)));
  expect(() => openCheckpoint(path)).toThrow(message);
});

test("a directory without a checkpoint, or with another kind of model, is a clear error", () => {
  const path = scratchDirectory();
  expect(() => openCheckpoint(path)).toThrow(/There is no .*config\.json\. Pass the directory/);
  // With a byte order mark, as an editor may save it.
  writeFileSync(join(path, "config.json"), '\ufeff{"model_type":"gpt2"}');
  expect(() => openCheckpoint(path)).toThrow(/config\.json is gpt2\. Use one of/);
  writeFileSync(join(path, "config.json"), "{");
  expect(() => openCheckpoint(path)).toThrow(/config\.json is not valid JSON/);
});

test("a checkpoint's file that cannot be read, or an adapter of another kind, is a clear error", () => {
  const path = scratchDirectory();
  symlinkSync("config.json", join(path, "config.json"));
  expect(() => openCheckpoint(path)).toThrow(/^Cannot read .*config\.json: .* Make it readable/);
  writeFileSync(join(path, "adapter_config.json"), '{"peft_type":"IA3"}');
  expect(() => openCheckpoint(path)).toThrow(/adapter_config\.json is an adapter of type IA3/);
});

test("weights of another shape are named", () => {
  const path = join(scratchDirectory(), "step-1");
  const weights = tinyWeights();
  weights["model.norm.weight"] = { shape: [9], data: new Float32Array(9) };
  saveModel(path, weights, NOTES);
  expect(() => openCheckpoint(path)).toThrow(/model\.norm\.weight is 9, not 8/);
});

test("an adapter is in PEFT's layout and reloads, merged, as it was trained", () => {
  const directory = scratchDirectory();
  const base = tinyWeights();
  saveModel(join(directory, "base"), base, NOTES);
  const adapter = randomAdapter(LORA, TINY, 1);
  for (const { data } of Object.values(adapter)) data.forEach((_, i) => (data[i] = Math.sin(i)));
  const path = join(directory, "step-1");
  writeDirectory(
    path,
    adapterFiles(adapter, { ...NOTES, lora: LORA, base: join(directory, "base") }),
  );

  const config: unknown = JSON.parse(readFileSync(join(path, "adapter_config.json"), "utf8"));
  expect(config).toMatchObject({
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: join(directory, "base"),
    r: 2,
    lora_alpha: 6,
    target_modules: ["q_proj", "down_proj"],
  });
  const tensor = tensorReader(readFileSync(join(path, "adapter_model.safetensors")));
  const name = "base_model.model.model.layers.0.mlp.down_proj";
  expect(tensor(`${name}.lora_A.weight`)).toHaveLength(2);
  expect(tensor(`${name}.lora_B.weight`)).toHaveLength(8);

  const batch = tinyBatch(1, 8);
  const sizes = { rows: 1, length: 8 };
  const lossOf = (weights: StoredWeights) => learnerOf(weights, sizes).gradients(batch).loss;
  const trained = learnerOf(base, { ...sizes, lora: LORA, adapter }).gradients(batch).loss;
  const reloaded = lossOf(readAll(openCheckpoint(path).weights));
  expect(reloaded).toBeCloseTo(trained, 4);
  expect(Math.abs(reloaded - lossOf(base))).toBeGreaterThan(0.01);

  // The project moves: the base that was saved beside it is still found.
  const moved = `${directory}-moved`;
  renameSync(directory, moved);
  expect(lossOf(readAll(openCheckpoint(join(moved, "step-1")).weights))).toBe(reloaded);
  renameSync(moved, directory);
});

test("a new adapter changes nothing", () => {
  const adapter = randomAdapter(LORA, TINY, 1);
  const batch = tinyBatch(1, 6);
  const sizes = { rows: 1, length: 6 };
  const plain = learnerOf(tinyWeights(), sizes).gradients(batch).loss;
  const adapted = learnerOf(tinyWeights(), { ...sizes, lora: LORA, adapter });
  expect(adapted.gradients(batch).loss).toBeCloseTo(plain, 5);
});

/** An adapter as PEFT saves it, to some of the modules. */
function peftAdapter(isAdapted: (name: string) => boolean, changes: object, more: Weights = {}) {
  const directory = scratchDirectory();
  const [base, path] = [join(directory, "base"), join(directory, "step-1")];
  saveModel(base, tinyWeights(), NOTES);
  const lora = { ...LORA, targetModules: [...PROJECTIONS] };
  const all = Object.entries(randomAdapter(lora, TINY, 1)).filter(([name]) => isAdapted(name));
  for (const [, { data }] of all) data.forEach((_, i) => (data[i] = Math.sin(i)));
  const adapter = Object.fromEntries(all);
  writeDirectory(path, adapterFiles({ ...adapter, ...more }, { ...NOTES, lora, base }));
  const file = join(path, "adapter_config.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...config, ...changes }));
  return { path, base, merged: () => mergedWeights(tinyWeights(), adapter, lora) };
}

const LAST = /layers\.1\..*(q|v)_proj/;

test.each([
  ["all-linear", /./, { target_modules: "all-linear" }],
  ["a regular expression", LAST, { target_modules: ".*layers\\.1\\..*(q_proj|v_proj)" }],
  [
    "full paths",
    LAST,
    { target_modules: ["q_proj", "v_proj"].map((name) => `model.layers.1.self_attn.${name}`) },
  ],
  [
    "names, some of them excluded",
    LAST,
    { target_modules: ["q_proj", "v_proj"], exclude_modules: ".*0.*" },
  ],
])("an adapter that PEFT chose by %s answers as it was trained", (_, adapted, changes) => {
  const { path, merged } = peftAdapter((name) => adapted.test(name), changes);
  expect(readAll(openCheckpoint(path).weights)).toEqual(merged());
});

test("an adapter of other tensors than those of linear maps is refused, not half applied", () => {
  const more = { "model.embed_tokens.weight": tinyWeights()["model.embed_tokens.weight"]! };
  for (const targets of [["q_proj"], "all-linear"]) {
    const { path } = peftAdapter(
      (name) => name.includes("q_proj"),
      { target_modules: targets },
      more,
    );
    expect(() => openCheckpoint(path)).toThrow(
      /adapter_model\.safetensors has base_model\.model\.model\.embed_tokens\.weight, which Kit cannot apply\. Use/,
    );
  }
});

test("an adapter's base is a folder of the working directory before it is a name of the hub", () => {
  const base_model_name_or_path = "models/base";
  const { path, base, merged } = peftAdapter(() => true, { base_model_name_or_path });
  const directory = join(path, "..");
  mkdirSync(join(directory, "models"));
  renameSync(base, join(directory, base_model_name_or_path));
  vi.spyOn(process, "cwd").mockReturnValue(directory);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(readAll(openCheckpoint(path).weights)).toEqual(merged());
});

test("what Unsloth writes beside PEFT's settings changes nothing", () => {
  const auto_mapping = {
    base_model_class: "LlamaForCausalLM",
    parent_library: "transformers.models.llama.modeling_llama",
    unsloth_fixed: true,
  };
  const unsloth = { unsloth_version: "2026.9.1", auto_mapping, lora_dropout: 0.0 };
  const { path, merged } = peftAdapter(() => true, { ...unsloth, note: "mine", tries: 3 });
  expect(readAll(openCheckpoint(path).weights)).toEqual(merged());
});

test("an adapter that is pickled is told how to be saved", () => {
  const { path } = peftAdapter(() => true, {});
  renameSync(join(path, "adapter_model.safetensors"), join(path, "adapter_model.bin"));
  expect(() => openCheckpoint(path)).toThrow(
    `${path} has its weights in adapter_model.bin, a format that can run code. Save it again with a PEFT that writes adapter_model.safetensors.`,
  );
});
