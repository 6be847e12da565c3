import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { describeOwner } from "../../../disk/owner.ts";
import { adapterFiles, openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { fromFloat16, toFloat16 } from "../../../engines/modelFiles/float16.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import {
  type StoredWeights,
  isBfloat16,
  toBfloat16,
  widened,
} from "../../../engines/modelFiles/weights.ts";
import { holdInContainer } from "../../foreignLock.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, UNTIED, tinyWeights, toBfloat16 as cutWeights } from "../embedded/tiny.ts";

const LORA = { r: 3, alpha: 6, targetModules: [...PROJECTIONS] };

/** An adapter with large updates, on a base of these weights. */
function savedAdapter(weights: StoredWeights, shape = TINY, lora = LORA) {
  const directory = scratchDirectory();
  const [base, adapter] = [join(directory, "base"), join(directory, "step-1")];
  const notes = { shape, promptStyle: "text" as const };
  saveModel(base, weights, notes);
  const tensors = randomAdapter(lora, shape, 1);
  for (const { data } of Object.values(tensors)) data.forEach((_, i) => (data[i] = Math.sin(i)));
  writeDirectory(adapter, adapterFiles(tensors, { ...notes, lora, base }));
  return { base, adapter, to: join(directory, "exported") };
}

function edit(path: string, changes: object): void {
  const config = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, JSON.stringify({ ...config, ...changes }));
}

const json = (...path: string[]): unknown => JSON.parse(readFileSync(join(...path), "utf8"));
const read = (path: string) => readAll(openCheckpoint(path).weights);

test.each([
  ["tied", TINY],
  ["with a head of its own", UNTIED],
])(
  "an export in float32 has, to the bit, the weights that the adapter answers with: %s",
  async (_, shape) => {
    const { base, adapter, to } = savedAdapter(tinyWeights(1, shape), shape);
    edit(join(base, "config.json"), { _name_or_path: base });
    edit(join(base, "tokenizer_config.json"), { name_or_path: base, tokenizer_file: base });
    const { bytes } = await exportModel(adapter, to);
    expect(readdirSync(to).toSorted()).toEqual([
      ...["config.json", "generation_config.json", "model.safetensors"],
      ...["tokenizer.json", "tokenizer_config.json"],
    ]);
    expect(bytes).toBe(readFileSync(join(to, "model.safetensors")).length);
    expect(read(to)).toEqual(read(adapter));
    expect(read(to)).not.toEqual(read(base));
    expect(openCheckpoint(to).promptStyle).toBe("text");
    expect(json(to, "config.json")).toMatchObject({ architectures: ["LlamaForCausalLM"] });
    for (const name of ["config.json", "tokenizer_config.json"]) {
      expect(readFileSync(join(to, name), "utf8")).not.toContain(base);
    }
  },
);

test("an export keeps bfloat16: merged in float32 and rounded to the nearest, the rest to the bit", async () => {
  const { base, adapter, to } = savedAdapter(cutWeights(tinyWeights(1, UNTIED)), UNTIED);
  await exportModel(adapter, to);
  const [merged, exported, before] = [read(adapter), read(to), read(base)];
  for (const [name, tensor] of Object.entries(exported)) {
    expect(isBfloat16(tensor), name).toBe(true);
    const { data } = merged[name]!;
    expect(tensor.data).toEqual(
      data instanceof Float32Array ? toBfloat16(data) : before[name]?.data,
    );
  }
});

test("what a base stores beside its weights, of any type, is ignored and exported unchanged", async () => {
  const { base, adapter, to } = savedAdapter(tinyWeights());
  const before = read(adapter);
  const file = join(base, "model.safetensors");
  const tensors = safetensorsOf(file);
  const ids = BigInt64Array.from({ length: 300 }, (_, i) => BigInt(-i));
  tensors["position_ids"] = { dtype: "I64", shape: [300], bytes: Buffer.from(ids.buffer) };
  tensors["attn.bias"] = { dtype: "BOOL", shape: [1, 3], bytes: Buffer.from([1, 0, 1]) };
  writeFileSync(file, safetensorsFile(tensors));
  expect(read(adapter)).toEqual(before);
  await exportModel(adapter, to);
  expect(read(to)).toEqual(before);
  const { position_ids, "attn.bias": mask } = safetensorsOf(join(to, "model.safetensors"));
  expect([position_ids, mask]).toEqual([tensors["position_ids"], tensors["attn.bias"]]);

  tensors["model.norm.weight"]!.dtype = "I32";
  writeFileSync(file, safetensorsFile(tensors));
  expect(() => read(base)).toThrow(
    `${file} stores model.norm.weight as I32, and Kit reads F32, BF16 and F16. Use the model in one of these types.`,
  );
});

interface FileTensor {
  dtype: string;
  shape: number[];
  bytes: Buffer;
}

/** The tensors of a file of any types. */
function safetensorsOf(path: string): Record<string, FileTensor> {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE());
  const header = JSON.parse(file.toString("utf8", 8, start)) as Record<
    string,
    Omit<FileTensor, "bytes"> & { data_offsets: [number, number] }
  >;
  const tensors = Object.entries(header).filter(([name]) => name !== "__metadata__");
  return Object.fromEntries(
    tensors.map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [from, to],
        },
      ]) => [name, { dtype, shape, bytes: Buffer.from(file.subarray(start + from, start + to)) }],
    ),
  );
}

function safetensorsFile(tensors: Record<string, FileTensor>): Buffer {
  let end = 0;
  const header = Object.entries(tensors).map(([name, { bytes, ...entry }]) => {
    const from = end;
    end += bytes.length;
    return [name, { ...entry, data_offsets: [from, end] }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...Object.values(tensors).map(({ bytes }) => bytes)]);
}

test("numbers are rounded to the nearest, and between two to the even one", () => {
  const floats = (...values: number[]) => Float32Array.from(values);
  const step = 2 ** -7;
  const near = [1 + step / 2, 1 + (3 * step) / 2, 1 + step * 0.51, -1 - step * 0.49, 3.4e38];
  const bfloat = widened(toBfloat16(floats(...near)));
  expect([...bfloat]).toEqual([1, 1 + 2 * step, 1 + step, -1, Infinity]);

  const all = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits);
  const finite = all.filter((bits) => (bits & 0x7c00) !== 0x7c00);
  expect(toFloat16(fromFloat16(finite))).toEqual(finite);
  const positive = fromFloat16(finite.filter((bits) => bits < 0x8000));
  const between = positive.subarray(1).map((value, i) => (value + positive[i]!) / 2);
  const evens = Uint16Array.from(between, (_, i) => i + (i % 2));
  expect(toFloat16(between)).toEqual(evens);
  expect([...fromFloat16(toFloat16(floats(65_519, 65_520, -1e9)))]).toEqual([
    65_504,
    Infinity,
    -Infinity,
  ]);
});

test("a model that was trained whole is copied, and an adapter's update may be scaled by its rank's root", async () => {
  const { base, adapter, to } = savedAdapter(tinyWeights());
  const other = join(to, "../copied");
  await exportModel(base, other);
  expect(read(other)).toEqual(read(base));
  edit(join(adapter, "adapter_config.json"), { use_rslora: true, lora_alpha: 6 / Math.sqrt(3) });
  const plain = savedAdapter(tinyWeights()).adapter;
  const [q, expected] = [adapter, plain].map((path) => [
    ...read(path)["model.layers.1.self_attn.q_proj.weight"]!.data,
  ]);
  expect(Math.max(...q!.map((value, i) => Math.abs(value - expected![i]!)))).toBeLessThan(1e-5);
});

/** The folder in which an export has begun to write the weights. */
async function writing(parent: string): Promise<string> {
  for (;;) {
    const begun = readdirSync(parent).map((name) => join(parent, name));
    const found = begun.find(
      (path) => path.endsWith(".partial") && existsSync(join(path, "model.safetensors")),
    );
    if (found) return found;
    await setImmediate();
  }
}

test("an export has its name when all of it is there; one that is aborted leaves nothing", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  const abort = new AbortController();
  const exporting = exportModel(adapter, to, { signal: abort.signal });
  await writing(join(to, ".."));
  expect(existsSync(to)).toBe(false);
  abort.abort();
  await expect(exporting).rejects.toThrow("aborted");
  expect(readdirSync(join(to, ".."))).toEqual(["base", "step-1"]);
  await exportModel(adapter, to);
  expect(readdirSync(join(to, ".."))).toEqual(["base", "exported", "step-1"]);
});

test("an export into an empty folder, as a mount point is, or a link to one leaves the folder in its place", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  const [there, link] = [join(to, "../there"), join(to, "../link")];
  await exportModel(adapter, to);
  mkdirSync(there);
  symlinkSync(there, link, "junction");
  const { ino } = statSync(there);
  const abort = new AbortController();
  const exporting = exportModel(adapter, link, { signal: abort.signal });
  const partial = await writing(there);
  expect(existsSync(join(there, "config.json"))).toBe(false);
  await expect(exportModel(adapter, there)).rejects.toThrow("Another export is writing");
  abort.abort();
  await expect(exporting).rejects.toThrow("aborted");
  expect(readdirSync(there)).toEqual([]);
  // As one that was killed leaves it.
  mkdirSync(partial);
  writeFileSync(join(partial, "half.safetensors"), "");
  // As macOS leaves a folder that somebody has looked at.
  writeFileSync(join(there, ".DS_Store"), "");
  await exportModel(adapter, link);
  rmSync(join(there, ".DS_Store"));
  expect(readdirSync(there).toSorted()).toEqual(readdirSync(to).toSorted());
  expect(read(there)).toEqual(read(to));
  expect(statSync(there).ino).toBe(ino);
  expect(readdirSync(join(to, ".."))).toEqual(["base", "exported", "link", "step-1", "there"]);
  rmSync(there, { recursive: true });
  await expect(exportModel(adapter, link)).rejects.toThrow("already exists. Choose");
});

test("an export touches none of its target's neighbours, whatever their names, and removes what a killed one has left", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  const parent = join(to, "..");
  for (const name of [".exported.partial", "exported.lock", ".exported.kit-export.mine.partial"]) {
    mkdirSync(join(parent, name));
    writeFileSync(join(parent, name, "notes.txt"), "mine");
  }
  writeFileSync(join(parent, "yarn.lock"), "mine");
  const before = readdirSync(parent);
  await exportModel(adapter, to);
  // As one that was killed leaves it.
  const [partial, lock] = [".yarn.kit-export.0123456789ab.partial", ".yarn.kit-export.lock"];
  mkdirSync(join(parent, partial));
  writeFileSync(join(parent, partial, "half.safetensors"), "");
  mkdirSync(join(parent, lock));
  const gone = { ...describeOwner(), startTime: "1", token: "gone" };
  writeFileSync(join(parent, lock, "owner.json"), JSON.stringify(gone));
  await exportModel(adapter, join(parent, "yarn"));
  expect(readdirSync(parent)).toEqual([...before, "exported", "yarn"].toSorted());
  expect(readFileSync(join(parent, "exported.lock/notes.txt"), "utf8")).toBe("mine");
});

test("of two exports to one folder at once, one writes it and the other is refused", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  const both = await Promise.allSettled([exportModel(adapter, to), exportModel(adapter, to)]);
  const refused = both.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  expect(refused).toEqual([
    expect.objectContaining({
      code: "CANNOT_WRITE",
      message: `Another export is writing ${to}. Wait for it to finish, or choose another folder.`,
    }),
  ]);
  expect(readdirSync(join(to, ".."))).toEqual(["base", "exported", "step-1"]);
});

test("an export waits for a sign of another that it can't see, and is refused while that lives", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  await holdInContainer(join(to, "../.exported.kit-export.lock"));
  const old = Date.now() / 1000 - 60;
  utimesSync(join(to, "../.exported.kit-export.lock"), old, old);
  const notes: string[] = [];
  const exporting = exportModel(adapter, to, { onNote: (text) => notes.push(text) });
  await expect(exporting).rejects.toThrow("Another export is writing");
  expect(existsSync(to)).toBe(false);
  expect(notes).toEqual([`waiting up to 30 s for another machine's export to ${to}`]);
});

test("an export that was suspended while another took over fails, and leaves the other's files alone", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  const exporting = exportModel(adapter, to);
  const partial = await writing(join(to, ".."));
  const lock = join(to, "../.exported.kit-export.lock");
  edit(join(lock, "owner.json"), { token: "another's" });
  rmSync(partial, { recursive: true });
  const other = join(to, "../.exported.kit-export.0123456789ab.partial");
  mkdirSync(other);
  writeFileSync(join(other, "model.safetensors"), "another's");
  await expect(exporting).rejects.toMatchObject({
    code: "CANNOT_WRITE",
    message: `Another export took over ${to}, because this one was unresponsive. Wait for it to finish, or choose another folder.`,
  });
  expect(readdirSync(other)).toEqual(["model.safetensors"]);
  expect(existsSync(partial)).toBe(false);
  expect(existsSync(lock)).toBe(true);
  expect(existsSync(to)).toBe(false);
});

test("a folder with something in it is left alone, with one clear sentence", async () => {
  const { adapter, to } = savedAdapter(tinyWeights());
  mkdirSync(to);
  writeFileSync(join(to, "notes.txt"), "mine");
  await expect(exportModel(adapter, to)).rejects.toMatchObject({
    code: "CANNOT_WRITE",
    message: `${to} already exists. Choose a new or empty folder.`,
  });
  await expect(exportModel(adapter, join(to, "notes.txt"))).rejects.toThrow("already exists");
  await expect(exportModel(adapter, join(to, "notes.txt/model"))).rejects.toMatchObject({
    code: "CHECKPOINT_UNWRITABLE",
  });
  expect(readdirSync(to)).toEqual(["notes.txt"]);
});

test("numbers that are not finite are not exported, also of a model without an adapter", async () => {
  const { base, to } = savedAdapter(tinyWeights());
  const file = join(base, "model.safetensors");
  const bytes = readFileSync(file);
  bytes.writeFloatLE(NaN, bytes.length - 4);
  writeFileSync(file, bytes);
  await expect(exportModel(base, to)).rejects.toThrow(
    /model\.safetensors has non-finite numbers in \S+\. Save or download it again\.$/,
  );
  expect(existsSync(to)).toBe(false);
});

test("a base that is gone, has changed or can't hold the result fails with one clear sentence, and nothing is left", async () => {
  const { base, adapter, to } = savedAdapter(tinyWeights());
  const refusal = async () => {
    const error = await exportModel(adapter, to).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "CHECKPOINT_INVALID" });
    return String(error);
  };
  const config = join(adapter, "adapter_config.json");
  edit(config, { lora_alpha: 1e39 });
  expect(await refusal()).toMatch(
    /Merged with the adapter, \S+ of \S+ overflows its number type, or is not a number\. Use/,
  );
  edit(config, { lora_alpha: 6, r: 2 });
  expect(await refusal()).toMatch(/adapter_model\.safetensors does not fit \S+base: .+\. Use/);
  edit(config, { r: 3 });
  const file = join(base, "model.safetensors");
  const tensors = safetensorsOf(file);
  tensors["model.layers.0.self_attn.q_proj.weight"]!.dtype = "I32";
  writeFileSync(file, safetensorsFile(tensors));
  expect(await refusal()).toMatch(
    / stores model\.layers\.0\.\S+q_proj\.weight as I32, and Kit reads/,
  );
  const shape = dimensionsOf({ layers: 2, heads: 2, width: 16, context: 48 });
  saveModel(base, tinyWeights(1, shape), { shape, promptStyle: "message" });
  expect(await refusal()).toMatch(
    /does not fit \S+base: the base has no matching tensor for base_model\.model\.\S+ Use the base/,
  );
  rmSync(base, { recursive: true });
  expect(await refusal()).toMatch(/needs its base, but there is no model at \S+base\. Copy/);
  expect(readdirSync(join(to, ".."))).toEqual(["step-1"]);
});

/** As PEFT 0.21 writes what is not set. */
const NOT_SET = {
  alora_invocation_tokens: null,
  alpha_pattern: {},
  arrow_config: null,
  auto_mapping: null,
  bias: "none",
  corda_config: null,
  ensure_weight_tying: false,
  eva_config: null,
  exclude_modules: null,
  fan_in_fan_out: false,
  init_lora_weights: true,
  kasa_config: null,
  layer_replication: null,
  layers_pattern: null,
  layers_to_transform: null,
  loftq_config: {},
  lora_bias: false,
  lora_dropout: 0,
  lora_ga_config: null,
  megatron_config: null,
  megatron_core: "megatron.core",
  modules_to_save: null,
  monteclora_config: null,
  peft_version: "0.21.0",
  qalora_group_size: 16,
  rank_pattern: {},
  target_parameters: null,
  trainable_token_indices: null,
  use_bdlora: null,
  use_dora: false,
  use_qalora: false,
  use_rslora: false,
  velora_config: null,
};

test.each([
  ...[{ use_dora: true }, { use_qalora: true }, { lora_bias: true }, { fan_in_fan_out: true }],
  ...[{ bias: "lora_only" }, { modules_to_save: ["lm_head"] }, { target_parameters: ["a"] }],
  ...[{ init_lora_weights: "pissa" }, { trainable_token_indices: [1] }],
  // Of a PEFT to come.
  ...[{ use_next_lora: true }, { next_lora_config: { scale: 2 } }],
])(
  "an adapter that is more than α/r · B·A is refused, to answer and to export: %j",
  async (set) => {
    const { adapter, to } = savedAdapter(tinyWeights());
    const config = join(adapter, "adapter_config.json");
    edit(config, NOT_SET);
    expect(() => openCheckpoint(adapter)).not.toThrow();
    edit(config, set);
    const said = `${config} sets ${Object.keys(set)[0]}, which Kit cannot apply. Use a model into which PEFT's merge_and_unload has merged it.`;
    expect(() => openCheckpoint(adapter)).toThrow(said);
    await expect(exportModel(adapter, to)).rejects.toThrow(said);
  },
);

test.each(["safetensors", "gguf"] as const)(
  "a model with a head of its own that its config calls tied keeps it, trained and exported as %s",
  async (format) => {
    const shape = { ...UNTIED, vocabulary: 264 };
    const { base, adapter, to } = savedAdapter(tinyWeights(1, shape), shape);
    edit(join(base, "config.json"), { tie_word_embeddings: true });
    expect(openCheckpoint(adapter).shape).toMatchObject({ tied: false });
    const { path } = await exportModel(adapter, to, { format });
    expect(openCheckpoint(path).shape).toMatchObject({ tied: false });
    expect(read(path)["lm_head.weight"]).toEqual(read(base)["lm_head.weight"]);
    if (format === "safetensors")
      expect(json(to, "config.json")).toMatchObject({ tie_word_embeddings: false });
  },
);

test("a model without a prefix in its tensors' names answers and is exported with its adapter", async () => {
  const { base, adapter, to } = savedAdapter(tinyWeights());
  const expected = read(adapter);
  const file = join(base, "model.safetensors");
  const tensors = Object.entries(safetensorsOf(file));
  const bare = tensors.map(([name, tensor]) => [name.replace(/^model\./, ""), tensor] as const);
  writeFileSync(file, safetensorsFile(Object.fromEntries(bare)));
  expect(read(adapter)).toEqual(expected);
  await exportModel(adapter, to);
  expect(read(to)).toEqual(expected);
  const { path } = await exportModel(adapter, `${to}-gguf`, { format: "gguf" });
  expect(read(path)).toEqual(expected);
});
