import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type Checkpoint,
  adapterFiles,
  openCheckpoint,
  saveModel,
} from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { type Dimensions, dimensionsOf } from "../../../engines/families/dimensions.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { parseHeader } from "../../../engines/gguf/parsedHeader.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { dequantize, quantize } from "../../../engines/modelFiles/blocks/blockType.ts";
import { BLOCK_TYPES } from "../../../engines/modelFiles/numberTypes.ts";
import { useFile } from "../../../engines/modelFiles/regularFile.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import { type StoredWeights, widen, widened } from "../../../engines/modelFiles/weights.ts";
import { difference } from "../embedded/kernels/team.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { tinyWeights, toBfloat16 } from "../embedded/tiny.ts";
import { FAMILIES } from "../gguf/families.ts";
import { kitLogits } from "../gguf/kitLogits.ts";
import { type Style, STYLES, withAllMerges, writeTokenizer } from "../tokens/styles.ts";

const SHAPE = dimensionsOf({ layers: 2, heads: 4, width: 32, intermediateSize: 64, context: 64 });

function save(shape: Dimensions = SHAPE, weights = tinyWeights(1, shape)) {
  const folder = scratchDirectory();
  const model = join(folder, "model");
  saveModel(model, weights, { shape, promptStyle: "message" });
  return { folder, model, to: join(folder, "tickets") };
}

const read = (path: string) => readAll(openCheckpoint(path).weights);
const typesIn = (path: string) => {
  const { tensors } = useFile(path, (file) => parseHeader(path, file));
  return Object.fromEntries([...tensors].map(([name, { type }]) => [name, type]));
};

/** The weights, and what norms multiply by: a GGUF file has 1 + w, of which the last bits of w cannot be told. */
function asComputed({ shape, weights }: Checkpoint): StoredWeights {
  const all = readAll(weights);
  if (shape.family !== "gemma3_text") return all;
  for (const name of Object.keys(all).filter((name) => name.includes("norm")))
    all[name] = { shape: all[name]!.shape, data: widened(all[name]!.data).map((w) => 1 + w) };
  return all;
}

test.each(Object.entries(FAMILIES))(
  "a GGUF file holds, to the bit, the weights, the shape and the tokens of %s",
  async (_, shape) => {
    const { model, to } = save(shape);
    const { path, bytes } = await exportModel(model, to, { format: "gguf" });
    expect(readdirSync(to).toSorted()).toEqual(["Modelfile", "tickets.gguf"]);
    expect(bytes).toBe(readFileSync(path).length);
    const [before, after] = [openCheckpoint(model), openCheckpoint(path)];
    expect(asComputed(after)).toEqual(asComputed(before));
    expect(after.shape).toEqual(before.shape);
    expect(after.promptStyle).toBe(before.promptStyle);
    const row = { messages: [{ role: "user" as const, content: "ünï" }] };
    expect(after.tokenizer.promptTokens(row, "message")).toEqual(
      before.tokenizer.promptTokens(row, "message"),
    );
  },
);

test("bfloat16 stays as it is, vectors are float32, and other types are as gguf-py rounds them", async () => {
  const { folder, model } = save(SHAPE);
  saveModel(join(folder, "halves"), toBfloat16(tinyWeights(1, SHAPE)), {
    shape: SHAPE,
    promptStyle: "message",
  });
  const own = await exportModel(join(folder, "halves"), join(folder, "own"), { format: "gguf" });
  expect(new Set(Object.values(typesIn(own.path)))).toEqual(new Set(["bf16", "f32"]));
  expect(typesIn(own.path)["output_norm.weight"]).toBe("f32");
  expect(read(own.path)["model.embed_tokens.weight"]).toEqual(
    read(join(folder, "halves"))["model.embed_tokens.weight"],
  );

  const small = await exportModel(model, join(folder, "small"), { format: "gguf", type: "q4_0" });
  const types = typesIn(small.path);
  expect(types["token_embd.weight"]).toBe("q8_0");
  expect(types["blk.0.attn_q.weight"]).toBe("q4_0");
  const name = "model.layers.0.self_attn.q_proj.weight";
  const blocks = quantize(BLOCK_TYPES.q4_0, widened(read(model)[name]!.data));
  expect(read(small.path)[name]!.data).toEqual(dequantize(BLOCK_TYPES.q4_0, blocks));
});

test("q4_k_m has llama.cpp's types, and its blocks answer as the numbers that they stand for", async () => {
  const shape = dimensionsOf({
    layers: 9,
    heads: 4,
    width: 64,
    intermediateSize: 256,
    context: 96,
  });
  const { model, to } = save(shape, tinyWeights(1, shape));
  const { path } = await exportModel(model, to, { format: "gguf", type: "q4_k_m" });
  const types = typesIn(path);
  const layers = (name: string, type: string) =>
    Array.from({ length: 9 }, (_, i) => i).filter((i) => types[`blk.${i}.${name}.weight`] === type);
  expect(layers("ffn_down", "q6_k")).toEqual([0, 3, 6, 7, 8]);
  expect(layers("ffn_down", "q4_k")).toEqual([1, 2, 4, 5]);
  // Rows of 64 are no whole blocks of 256.
  expect(layers("attn_v", "q8_0")).toEqual([0, 3, 6, 7, 8]);
  expect(layers("attn_q", "q5_0")).toHaveLength(9);
  expect(types["token_embd.weight"]).toBe("q8_0");
  const tokens = Array.from({ length: 20 }, (_, i) => (i * 37) % 262);
  saveModel(`${to}-wide`, widen(read(path)), { shape, promptStyle: "message" });
  const [blocks, numbers] = [path, `${to}-wide`].map((from) => kitLogits(from, tokens).flat());
  expect(difference(blocks!, numbers!)).toBeLessThan(0.15);
});

test("rows that are no whole blocks of a quantized type stay float16", async () => {
  const { model, to } = save({ ...SHAPE, intermediateSize: 48 });
  const { path } = await exportModel(model, to, { format: "gguf", type: "q8_0" });
  expect(typesIn(path)).toMatchObject({
    "blk.0.ffn_down.weight": "f16",
    "blk.0.ffn_up.weight": "q8_0",
  });
});

test("numbers that do not fit a type are refused, with one that they fit", async () => {
  const weights = tinyWeights(1, SHAPE);
  weights["model.layers.1.mlp.up_proj.weight"]!.data[5] = 70_000;
  const { model, to } = save(SHAPE, weights);
  await expect(exportModel(model, to, { format: "gguf", type: "f16" })).rejects.toThrow(
    "model.layers.1.mlp.up_proj.weight has numbers too large for f16. Use --type bf16 or f32.",
  );
  expect(readdirSync(join(to, ".."))).not.toContain("tickets");
  await exportModel(model, to, { format: "gguf", type: "q8_0" });
});

test("an adapter is merged in float32, and rounded once to the type that is asked for", async () => {
  const { folder, to } = save();
  const base = join(folder, "base");
  saveModel(base, toBfloat16(tinyWeights(1, SHAPE)), { shape: SHAPE, promptStyle: "message" });
  const lora = { r: 3, alpha: 6, targetModules: [...PROJECTIONS] };
  const tensors = randomAdapter(lora, SHAPE, 1);
  for (const { data } of Object.values(tensors)) data.forEach((_, i) => (data[i] = Math.sin(i)));
  const adapter = join(folder, "step-1");
  const notes = { shape: SHAPE, promptStyle: "message" as const, lora, base };
  writeDirectory(adapter, adapterFiles(tensors, notes));
  const { path } = await exportModel(adapter, to, { format: "gguf", type: "f32" });
  const name = "model.layers.0.mlp.up_proj.weight";
  expect(read(path)[name]).toEqual(read(adapter)[name]);

  await expect(
    exportModel(base, `${to}-lora`, { format: "gguf", adapterOnly: true }),
  ).rejects.toThrow(`${base} is a whole model, not an adapter. Export it without --adapter.`);
  await expect(
    exportModel(adapter, `${to}-lora`, { format: "gguf", adapterOnly: true, type: "q8_0" }),
  ).rejects.toThrow("An adapter cannot be quantized. Use --type f32, f16 or bf16.");
});

test.each([
  [
    "Qwen 3 with biases",
    { family: "qwen3", biases: ["q_proj", "k_proj", "v_proj", "o_proj"] },
    "a bias of q_proj in qwen3",
  ],
  [
    "Qwen 2 with another head size",
    { family: "qwen2", headDim: 16 },
    "a head size other than width / heads",
  ],
  [
    "SmolLM3 that turns other layers",
    { family: "smollm3", noRopeLayers: [0] },
    "layers without RoPE other than",
  ],
  [
    "Gemma 3 with other full layers",
    { family: "gemma3_text", sliding: { layers: [1], window: 8, theta: 10_000 } },
    "full-attention layers other than every sixth",
  ],
  [
    "Gemma 3 that turns its sliding layers otherwise",
    { family: "gemma3_text", sliding: { layers: [0, 1], window: 8, theta: 500 } },
    "a rope_theta other than 10000 in its sliding layers",
  ],
  [
    "Gemma 3 with scores by another size",
    { family: "gemma3_text", queryScalar: 12 },
    "a query_pre_attn_scalar other than its head size",
  ],
] as const)("%s is refused, because llama.cpp does not compute it", async (_, more, problem) => {
  const { model, to } = save({ ...SHAPE, ...more });
  await expect(exportModel(model, to, { format: "gguf" })).rejects.toThrow(problem);
});

/** A model with a tokenizer of this style, changed. */
function saveWith(style: Style, change: (tokenizer: Record<string, unknown>) => void, config = {}) {
  const shape = { layers: 1, heads: 2, width: 32, context: 64, vocabulary: style.size };
  const { model, to } = save(dimensionsOf(shape));
  const tokenizer = structuredClone(style.tokenizer) as Record<string, unknown>;
  change(tokenizer);
  writeTokenizer(model, { ...style, tokenizer }, config);
  return { model, to };
}

test.each<[string, Style, (tokenizer: Record<string, unknown>) => void, object, string]>([
  ["makes tokens", STYLES["Llama 2"]!, () => undefined, {}, "makes tokens in a way"],
  ["lacks pairs of a token", STYLES["Gemma 3"]!, () => undefined, {}, "makes tokens in a way"],
  [
    "merges pairs of a token at different times",
    withAllMerges(STYLES["Gemma 3"]!),
    (tokenizer) => {
      const { merges } = tokenizer["model"] as { merges: string[][] };
      const made = merges.map((pair) => pair.join(""));
      const at = made.findIndex((text, i) => made[i + 1] === text && new Set(text).size > 1);
      merges.push(...merges.splice(at, 1));
    },
    {},
    "makes tokens in a way",
  ],
  [
    "splits texts",
    STYLES["SmolLM"]!,
    (tokenizer) => (tokenizer["pre_tokenizer"] = { type: "Whitespace" }),
    {},
    "splits texts in a way",
  ],
  [
    "normalizes texts",
    STYLES["SmolLM"]!,
    (tokenizer) => (tokenizer["normalizer"] = { type: "Lowercase" }),
    {},
    "normalizes texts in a way",
  ],
  [
    "ends answers",
    STYLES["SmolLM"]!,
    () => undefined,
    { eos_token: null, chat_template: undefined },
    "ends answers in a way",
  ],
])(
  "a tokenizer that %s as llama.cpp does not is refused",
  async (_, style, change, config, problem) => {
    const { model, to } = saveWith(style, change, config);
    writeFileSync(join(model, "generation_config.json"), "{}");
    await expect(exportModel(model, to, { format: "gguf" })).rejects.toThrow(problem);
  },
);

test("a token that only the files beside tokenizer.json have is in the file's vocabulary, too", async () => {
  const style = STYLES["Llama 3"]!;
  const { model, to } = saveWith({ ...style, size: style.size + 4 }, () => undefined);
  writeFileSync(join(model, "added_tokens.json"), `{"<call>":${style.size}}`);
  const { path } = await exportModel(model, to, { format: "gguf" });
  const file = readFileSync(path);
  // Ids without a token have a text of their own.
  const named = [0, 1].map((more) => file.includes(`[PAD${style.size + more}]`));
  expect(named).toEqual([false, true]);
  const ids = [model, path].map((one) =>
    openCheckpoint(one).tokenizer.promptTokens({ prompt: "a<call>b" }, "text"),
  );
  expect(ids[0]).toContain(style.size);
  expect(ids[1]).toEqual(ids[0]);
});

test("a Modelfile has the chat template in Go's language, and ends answers", async () => {
  const { model, to } = saveWith(STYLES["SmolLM"]!, () => undefined);
  writeFileSync(join(model, "generation_config.json"), "{}");
  await exportModel(model, to, { format: "gguf" });
  const file = readFileSync(join(to, "Modelfile"), "utf8");
  expect(file.split("\n")[0]).toBe("FROM ./tickets.gguf");
  expect(file).toContain('PARAMETER stop "<|im_end|>"\nPARAMETER temperature 0\n');
  expect(file).toContain(
    [
      'TEMPLATE """{{ if not .System }}<|im_start|>system\nYou are helpful.<|im_end|>\n{{ end }}',
      '{{ range .Messages }}{{ if eq .Role "system" }}<|im_start|>system\n{{ .Content }}<|im_end|>\n',
      '{{ else if eq .Role "user" }}<|im_start|>user\n{{ .Content }}<|im_end|>\n',
      '{{ else if eq .Role "assistant" }}<|im_start|>assistant\n{{ .Content }}<|im_end|>\n',
      '{{ end }}{{ end }}<|im_start|>assistant\n"""',
    ].join(""),
  );
});

test("the Modelfile of Kit's own model leaves the first token to Ollama, which writes it", async () => {
  const { model, to } = save();
  await exportModel(model, to, { format: "gguf" });
  expect(readFileSync(join(to, "Modelfile"), "utf8")).toContain(
    'TEMPLATE """{{ range .Messages }}{{ if eq .Role "system" }}<|system|>{{ .Content }}<|eos|>',
  );
});

test("a chat template that Ollama's language cannot say is told, and written as a comment", async () => {
  const { model, to } = saveWith(STYLES["Qwen 3"]!, () => undefined, {
    chat_template: "{% for message in messages %}{{ message.content | upper }}{% endfor %}",
  });
  writeFileSync(join(model, "generation_config.json"), "{}");
  const notes: string[] = [];
  await exportModel(model, to, { format: "gguf", onNote: (text) => void notes.push(text) });
  const problem =
    "Ollama's template language cannot express this model's chat template. Write a TEMPLATE into the Modelfile.";
  expect(notes).toEqual([problem]);
  expect(readFileSync(join(to, "Modelfile"), "utf8")).toContain(`\n# ${problem}\n`);
});
