import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adapterFiles, openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { FAMILIES } from "../../../engines/families/families.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import { KitError } from "../../../protocol/error.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinyWeights } from "../embedded/tiny.ts";

const NOTES = { shape: TINY, promptStyle: "message" } as const;
const LORA = { r: 2, alpha: 6, targetModules: ["q_proj"] };
/** Far more than a sentence needs; each of these models claims gigabytes. */
const LITTLE_MEMORY = 200 * 2 ** 20;

type Entries = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

function savedModel(): string {
  const path = join(scratchDirectory(), "step-1");
  saveModel(path, tinyWeights(), NOTES);
  return path;
}

function savedAdapter(base: string): string {
  const path = join(scratchDirectory(), "step-1");
  writeDirectory(path, adapterFiles(randomAdapter(LORA, TINY, 1), { ...NOTES, lora: LORA, base }));
  return path;
}

function edit(path: string, name: string, changes: object): void {
  const file = join(path, name);
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...config, ...changes }));
}

function editHeader(path: string, change: (entries: Entries) => void): void {
  const file = join(path, "model.safetensors");
  const bytes = readFileSync(file);
  const end = 8 + Number(bytes.readBigUInt64LE());
  const entries = JSON.parse(bytes.subarray(8, end).toString()) as Entries;
  change(entries);
  const header = Buffer.from(JSON.stringify(entries));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(file, Buffer.concat([length, header, bytes.subarray(end)]));
}

function problemOf(path: string): string {
  const before = process.memoryUsage().rss;
  try {
    readAll(openCheckpoint(path).weights);
  } catch (error) {
    expect(error).toBeInstanceOf(KitError);
    expect(process.memoryUsage().rss - before).toBeLessThan(LITTLE_MEMORY);
    const { code, message } = error as KitError;
    expect(code).toBe("CHECKPOINT_INVALID");
    expect(message).toMatch(
      /^.+[^.]: [^:]+\.$|^.+\. (Use|Save|Name|Pass|If|Write|Merge|Train) [^.]+(\.safetensors|\.json; if not, download it again)?\.$/,
    );
    return message;
  }
  return "none";
}

test.each([
  [{ num_hidden_layers: 1e4 }, "its config describes 90002 tensors"],
  [{ num_hidden_layers: 1e9 }, "needs at most 10,000 as num_hidden_layers, not 1,000,000,000"],
  [{ num_hidden_layers: 1e300 }, "needs a positive whole number as num_hidden_layers, not 1e+300"],
  [{ num_hidden_layers: 5 }, "its config describes 47 tensors"],
  [{ num_hidden_layers: 3 }, "model.layers.2.input_layernorm.weight is missing (expected 8)"],
  [{ num_hidden_layers: -2 }, "needs a positive whole number as num_hidden_layers, not -2."],
  [{ num_hidden_layers: 1.5 }, "num_hidden_layers, not 1.5"],
  [{ num_hidden_layers: undefined }, "num_hidden_layers, not undefined"],
  [
    { num_attention_heads: 3, num_key_value_heads: 2 },
    "has 3 attention heads of size 4 and 2 key-value heads, which is impossible",
  ],
  [{ head_dim: 5 }, "has 2 attention heads of size 5 and 2 key-value heads, which is impossible"],
  [{ head_dim: 8 }, "model.layers.0.self_attn.q_proj.weight is 8 × 8, not 16 × 8"],
  [{ num_attention_heads: 0, num_key_value_heads: 0 }, "as num_attention_heads, not 0"],
  [{ max_position_embeddings: 0, rope_theta: 100 }, "as max_position_embeddings, not 0"],
  [{ vocab_size: 1e9 }, "its config describes 20 tensors of 80000"],
  [{ vocab_size: 300 }, "model.embed_tokens.weight is 264 × 8, not 300 × 8"],
  [{ tie_word_embeddings: "no" }, 'needs true or false as tie_word_embeddings, not "no"'],
  [{ rms_norm_eps: -1 }, "needs a positive number as rms_norm_eps, not -1"],
  [{ rope_theta: "all" }, 'needs a positive number as rope_theta, not "all"'],
  [{ rope_scaling: { rope_type: "linear" } }, "as factor, not undefined"],
])(
  "a config.json with %j fails with one clear sentence before memory is taken",
  (changes, problem) => {
    const path = savedModel();
    edit(path, "config.json", changes);
    expect(problemOf(path)).toContain(problem);
  },
);

const ARCHITECTURES = Object.values(FAMILIES).map(({ architecture }) => architecture);
const KINDS = `Use one of ${ARCHITECTURES.join(", ")}.`;

test.each([
  [{ model_type: "gpt2", architectures: ["GPT2LMHeadModel"] }, `is GPT2LMHeadModel. ${KINDS}`],
  [{ architectures: ["LlamaForSequenceClassification"] }, `ForSequenceClassification. ${KINDS}`],
  [{ model_type: "__proto__", architectures: [] }, `is __proto__. ${KINDS}`],
  [{ model_type: null, architectures: null }, `names no model_type. ${KINDS}`],
  [{ model_type: undefined }, `names no model_type. ${KINDS}`],
  [{ model_type: "gpt2" }, `is gpt2. ${KINDS}`],
  [{ architectures: ["\u001b[31mGPT\n2"] }, `is "\\u001b[31mGPT\\n2". ${KINDS}`],
  [
    { quantization_config: { quant_method: "gptq", bits: 4 } },
    "is quantized (gptq). Use the model's weights in bfloat16, float16 or float32.",
  ],
  [
    // Weights of 16 bits into which an adapter was merged, with what its base's config said.
    { quantization_config: { quant_method: "bitsandbytes", load_in_4bit: true } },
    "float16 or float32; if they already are, as after a merge, remove quantization_config there.",
  ],
  [
    {
      quantization_config: { quant_method: "bitsandbytes", load_in_4bit: true },
      _name_or_path: "unsloth/Llama-3-8B-unsloth-bnb-4bit",
    },
    "is quantized (bitsandbytes). Use the original, unsloth/Llama-3-8B; in an adapter, name it as base_model_name_or_path.",
  ],
  [{ hidden_act: "gelu" }, 'has the activation "gelu". Use a model with silu.'],
  [
    { rope_parameters: { rope_type: "yarn", factor: 4, rope_theta: 1e6 } },
    'uses rope type "yarn". Use a model with type default, linear or llama3.',
  ],
  [{ rope_scaling: { type: "dynamic", factor: 2 } }, 'uses rope type "dynamic". Use a model'],
  [
    { rope_parameters: { full_attention: { rope_type: "default", rope_theta: 1e6 } } },
    "has several sets of RoPE parameters. Use a model with a single one.",
  ],
  [{ partial_rotary_factor: 0.5 }, "uses partial rotary embeddings. Use a model without"],
  [
    { model_type: "mistral", architectures: ["MistralForCausalLM"], sliding_window: 32 },
    "attends only to the last 32 tokens. Use a model without an active sliding_window.",
  ],
  [
    {
      model_type: "mistral",
      architectures: ["MistralForCausalLM"],
      max_position_embeddings: 8_192,
    },
    "attends only to the last 4096 tokens.",
  ],
])("a model of a kind that cannot be read is refused with what would work: %j", (changes, said) => {
  const path = savedModel();
  edit(path, "config.json", changes);
  expect(problemOf(path)).toContain(said);
});

test.each([
  { sliding_window: 48 },
  { sliding_window: null, max_position_embeddings: 8_192 },
  { sliding_window: 8, layer_types: ["full_attention", "full_attention"] },
])("a window that no layer uses is none: %j", (changes) => {
  const path = savedModel();
  edit(path, "config.json", {
    ...changes,
    architectures: ["MistralForCausalLM"],
    model_type: "mistral",
  });
  expect(problemOf(path)).toBe("none");
});

test("pickled weights alone are refused, and shards outside of the directory", () => {
  const path = savedModel();
  rmSync(join(path, "model.safetensors"));
  writeFileSync(join(path, "pytorch_model.bin"), "");
  expect(problemOf(path)).toMatch(
    /has its weights in pytorch_model\.bin, a format that can run code\. Use/,
  );
  for (const weight_map of [null, {}, { a: "../b.safetensors" }, { a: "b.bin" }, { a: 7 }]) {
    writeFileSync(join(path, "model.safetensors.index.json"), JSON.stringify({ weight_map }));
    expect(problemOf(path)).toMatch("index.json names no weights. Save or download it again.");
  }
  const shards = { a: "a.safetensors", b: "b.safetensors" };
  writeFileSync(join(path, "model.safetensors.index.json"), JSON.stringify({ weight_map: shards }));
  expect(problemOf(path)).toMatch(/There is no .*a\.safetensors\. Pass the directory/);
});

test.each(["null", "7", "[]", '"text"'])(
  "a config that is %s fails with one clear sentence",
  (text) => {
    const model = savedModel();
    const adapter = savedAdapter(model);
    for (const [path, name] of [
      [savedModel(), "config.json"],
      [savedModel(), "tokenizer_config.json"],
      [adapter, "adapter_config.json"],
    ] as const) {
      writeFileSync(join(path, name), text);
      expect(problemOf(path)).toMatch(`${name} is not a JSON object`);
    }
  },
);

test.each(["config.json", "tokenizer_config.json", "model.safetensors"])(
  "a pipe, a folder or a huge file in the place of %s keeps nobody waiting",
  (name) => {
    const path = savedModel();
    const file = join(path, name);
    truncateSync(file, 2 ** 40);
    expect(problemOf(path)).toContain(file);
    rmSync(file);
    execFileSync("mkfifo", [file]);
    expect(problemOf(path)).toMatch(`${name} is not a regular file`);
    rmSync(file);
    mkdirSync(file);
    expect(problemOf(path)).toMatch(`${name} is not a regular file`);
  },
);

test.each<[string, (entries: Entries) => void, string]>([
  [
    "3,000 others",
    (entries) => {
      for (let n = 0; n < 3_000; n++) {
        entries[`model.layers.${n}.empty`] = { dtype: "F32", shape: [0], data_offsets: [0, 0] };
      }
    },
    "too long for 20 tensors",
  ],
  [
    "two tensors in one place",
    (entries) => {
      const norm = entries["model.layers.0.input_layernorm.weight"]!;
      norm.data_offsets = entries["model.norm.weight"]!.data_offsets;
    },
    "has a gap or an overlap at model.layers",
  ],
  [
    "a gap between its tensors",
    (entries) => delete entries["model.layers.0.input_layernorm.weight"],
    "has a gap or an overlap at model.layers.0.self_attn.q_proj.weight",
  ],
  [
    "less than the file holds",
    (entries) => delete entries[Object.keys(entries).at(-1) ?? ""],
    "has a gap or an overlap at its end",
  ],
])("a header that names %s fails with one clear sentence", (_, change, problem) => {
  const path = savedModel();
  editHeader(path, change);
  expect(problemOf(path)).toMatch(problem);
});

test.each([NaN, Infinity, -Infinity])("weights that are %s are refused by name", (value) => {
  const path = join(scratchDirectory(), "step-1");
  const weights = tinyWeights();
  weights["model.norm.weight"]!.data[7] = value;
  saveModel(path, weights, NOTES);
  expect(problemOf(path)).toMatch("has non-finite numbers in model.norm.weight");
});

test("weights that a broken download left as zeros, or in 8 bits, are told as such", () => {
  const path = savedModel();
  const file = join(path, "model.safetensors");
  const bytes = readFileSync(file);
  const start = 8 + Number(bytes.readBigUInt64LE());
  writeFileSync(
    file,
    Buffer.concat([bytes.subarray(0, start), Buffer.alloc(bytes.length - start)]),
  );
  expect(problemOf(path)).toBe(
    `${file} has only zeros in model.embed_tokens.weight, as after an interrupted download. Save or download it again.`,
  );

  let end = 0;
  const header = Object.fromEntries(
    Object.entries(tinyWeights()).map(([name, { shape, data }]) => {
      const from = end;
      end += data.length;
      return [name, { dtype: "F8_E4M3", shape, data_offsets: [from, end] }];
    }),
  );
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  writeFileSync(file, Buffer.concat([length, json, Buffer.alloc(end)]));
  expect(problemOf(path)).toBe(
    `${file} stores model.embed_tokens.weight as F8_E4M3, and Kit reads F32, BF16 and F16. Use the model in one of these types.`,
  );
});

test("an untied model without a head is told what its config.json may lack", () => {
  const path = savedModel();
  edit(path, "config.json", { tie_word_embeddings: false });
  expect(problemOf(path)).toBe(
    `${join(path, "model.safetensors")} has no lm_head.weight. If the model's head is its embedding, set "tie_word_embeddings": true in ${join(path, "config.json")}; if not, download it again.`,
  );
});

test("an adapter that names itself as its base, or one that names it, fails with one clear sentence", () => {
  const one = savedAdapter(savedModel());
  const other = savedAdapter(one);
  expect(problemOf(other)).toMatch(`names the adapter ${one} as its base`);
  edit(one, "adapter_config.json", { base_model_name_or_path: one });
  expect(problemOf(one)).toMatch(`names the adapter ${one} as its base`);
  edit(one, "adapter_config.json", { base_model_name_or_path: other });
  expect(problemOf(one)).toMatch(`names the adapter ${other} as its base`);
});

test.each([
  [{ r: 0 }, "needs a positive whole number as r, not 0. Save or download it again."],
  [{ r: -1 }, "needs a positive whole number as r, not -1"],
  [{ r: 1e12 }, "its config describes 4 tensors"],
  [{ lora_alpha: null }, "needs a number as lora_alpha, not null. Save"],
  [{ target_modules: [] }, "has target_modules that are not linear layers of its base. Use"],
  [{ target_modules: ["__proto__"] }, "has target_modules that are not linear layers"],
  [{ target_modules: [null] }, "has target_modules that are not linear layers"],
  [{ rank_pattern: { "(a+)+": 2 } }, "has rank_pattern that Kit cannot read. Use"],
  [{ rank_pattern: { q_proj: 0 } }, "has rank_pattern that Kit cannot read"],
  [{ alpha_pattern: { "[": 2 } }, "has alpha_pattern that Kit cannot read"],
  [{ base_model_name_or_path: null }, "names no base. Write the base's folder, or its name on"],
  [{ base_model_name_or_path: "" }, "names no base. Write"],
  [
    { peft_type: undefined },
    'names no peft_type. Write "peft_type": "LORA" into it if it is a LoRA',
  ],
  [
    { peft_type: "LOHA" },
    "is an adapter of type LOHA, and Kit supports only LORA. Use a model into which PEFT's merge_and_unload",
  ],
  [{ peft_type: "IA3" }, "is an adapter of type IA3, and Kit supports only LORA. Use"],
  [{ peft_type: "PREFIX_TUNING" }, "type PREFIX_TUNING, and Kit supports only LORA. Train a LoRA"],
  [
    { peft_type: undefined, fine_tune_type: "lora", lora_parameters: { rank: 8 } },
    "is in MLX's own adapter format. Merge it into its model with mlx_lm's fuse",
  ],
])("an adapter_config.json with %j fails with one clear sentence", (changes, problem) => {
  const path = savedAdapter(savedModel());
  edit(path, "adapter_config.json", changes);
  expect(problemOf(path)).toMatch(problem);
});
