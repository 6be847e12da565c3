import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adapterFiles, openCheckpoint, saveModel } from "../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../engines/checkpoint/directory.ts";
import { createRandom } from "../engines/dataset/random.ts";
import type { Simd } from "../engines/embedded/kernels/simd.ts";
import type { Dimensions } from "../engines/families/dimensions.ts";
import { weightShapes } from "../engines/families/tensorShapes.ts";
import { randomAdapter } from "../engines/lora/adapter.ts";
import type { StoredWeights } from "../engines/modelFiles/weights.ts";
import { OPEN_LORA, OPEN_SEED, OPEN_SHAPE, TINY_OPEN_SHAPE } from "./openShape.ts";
import { REAL_WEIGHTS, ROOT } from "./paths.ts";
import type { Scope } from "./scope.ts";

/** Paths of a published-style model, an adapter and training data. */
export interface OpenModel {
  /** A directory with weights in bfloat16 and a tokenizer. */
  model: string;
  /** A directory with a new adapter for every linear layer, which changes nothing yet. */
  adapter: string;
  /** JSONL of texts longer than any measured row. */
  texts: string;
  /** int32: `TOKENS` tokens. */
  tokens: string;
}

/** Sizes for a process that works on an open model. */
export interface OpenModelSizes extends OpenModel {
  rows: number;
  /** Tokens per row or answer. */
  length: number;
  threads: number;
  simd?: Simd;
  /** Tokens of each row if they differ; a step takes `rows` of them. */
  lengths?: readonly number[];
}

/** Learned share of a row's tokens, at its end, if rows differ. */
export const LEARNED_SHARE = 0.3;

/** Log-normal lengths, as of conversations: median 120, σ 0.8, at most 1,024. */
export function mixedLengths(count: number): number[] {
  const random = createRandom(OPEN_SEED, "lengths");
  return Array.from({ length: count }, () =>
    Math.min(1024, Math.max(8, Math.round(120 * Math.exp(0.8 * random.normal())))),
  );
}

const TOKENS = 32_768;
const TEXTS = 8;

/** The real SmolLM2-135M, or random weights of its size. @returns its directory */
export function openModelOf(scope: Scope): string {
  if (scope.size === "tiny") return makeModel(scope.folder(), TINY_OPEN_SHAPE);
  return existsSync(REAL_WEIGHTS) ? REAL_WEIGHTS : makeModel(scope.folder(), OPEN_SHAPE);
}

/** The open model with training data: Kit's own documentation. */
export function makeOpenModel(scope: Scope): OpenModel {
  const [model, folder] = [openModelOf(scope), scope.folder()];
  const [adapter, texts, tokens] = ["adapter", "texts.jsonl", "tokens"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const { shape, tokenizer } = openCheckpoint(model);
  const start = randomAdapter(OPEN_LORA, shape, OPEN_SEED);
  const notes = { shape, promptStyle: "text", lora: OPEN_LORA, base: model } as const;
  writeDirectory(adapter, adapterFiles(start, notes));
  const text = documentation();
  const length = Math.floor(text.length / TEXTS);
  const parts = Array.from({ length: TEXTS }, (_, i) => text.slice(i * length, (i + 1) * length));
  writeFileSync(texts, parts.map((part) => JSON.stringify({ text: part })).join("\n"));
  const ids = tokenizer.sequencesOf({ text }).flatMap(([span]) => [...(span?.tokens ?? [])]);
  writeFileSync(
    tokens,
    Int32Array.from({ length: TOKENS }, (_, i) => ids[i % ids.length] ?? 0),
  );
  return { model, adapter, texts, tokens };
}

function documentation(): string {
  const folder = join(ROOT, "docs");
  const pages = readdirSync(folder).filter((name) => name.endsWith(".md"));
  return pages.map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
}

/** Makes a model with random weights and a small tokenizer of the tests. @returns its directory */
export function makeModel(folder: string, shape: Dimensions): string {
  const model = join(folder, "model");
  const { tokenizer, config } = smallTokenizer();
  saveModel(model, randomHalves(shape), { shape, promptStyle: "text" });
  writeFileSync(join(model, "tokenizer.json"), JSON.stringify(tokenizer));
  writeFileSync(join(model, "tokenizer_config.json"), JSON.stringify(config));
  return model;
}

/** Uniform weights in bfloat16, scaled to keep the activations' variance from layer to layer. */
function randomHalves(shape: Dimensions): StoredWeights {
  const word = new Float32Array(1);
  const bits = new Uint32Array(word.buffer);
  const entries = Object.entries(weightShapes(shape)).map(([name, sizes]) => {
    const [out = 0, inner] = sizes;
    const data = new Uint16Array(out * (inner ?? 1));
    const random = createRandom(OPEN_SEED, name);
    const bound = Math.sqrt(3 / (inner ?? 1));
    for (let i = 0; i < data.length; i++) {
      word[0] = inner === undefined ? 1 : (2 * random.uniform() - 1) * bound;
      data[i] = (bits[0] ?? 0) >>> 16;
    }
    return [name, { shape: sizes, data }] as const;
  });
  return Object.fromEntries(entries);
}

/** A tokenizer like SmolLM's. */
function smallTokenizer() {
  const file = join(ROOT, "tests", "engines", "tokens", "reference", "tokens.json");
  const { families } = JSON.parse(readFileSync(file, "utf8")) as {
    families: Record<string, { tokenizer: object; config: object }>;
  };
  const style = families["SmolLM"];
  if (!style) throw new Error(`${file} has no tokenizer as SmolLM's.`);
  return style;
}
