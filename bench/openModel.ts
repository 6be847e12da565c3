import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adapterFiles, openCheckpoint, saveModel } from "../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../engines/checkpoint/directory.ts";
import { createRandom } from "../engines/dataset/random.ts";
import type { Simd } from "../engines/embedded/kernels/simd.ts";
import { type Dimensions, dimensionsOf } from "../engines/families/dimensions.ts";
import { PROJECTIONS } from "../engines/families/projections.ts";
import { weightShapes } from "../engines/families/tensorShapes.ts";
import { randomAdapter } from "../engines/lora/adapter.ts";
import type { StoredWeights } from "../engines/modelFiles/weights.ts";
import type { LoraConfig } from "../protocol/trainConfig.ts";
import { REAL_WEIGHTS, ROOT } from "./places.ts";
import type { Scope } from "./scope.ts";

/** A model as others publish them, with an adapter and what it learns from; paths. */
export interface OpenModel {
  /** A directory: weights in bfloat16, a tokenizer. */
  model: string;
  /** A directory: an adapter of every linear map, which changes nothing yet. */
  adapter: string;
  /** JSONL of texts that are longer than any row measured. */
  texts: string;
  /** int32: `TOKENS` tokens. */
  tokens: string;
}

/** The work of one process on such a model. */
export interface OpenModelSizes extends OpenModel {
  rows: number;
  /** Tokens a row, or of an answer. */
  length: number;
  threads: number;
  simd?: Simd;
  /** Tokens that are read of each row, where they differ: `rows` of them to a step. */
  lengths?: readonly number[];
}

/** The share of a row's tokens that is learned, at its end, where rows differ. */
export const LEARNED_SHARE = 0.3;

/** Log-normal, as conversations are: median 120, σ 0.8, at most 1,024. */
export function mixedLengths(count: number): number[] {
  const random = createRandom(OPEN_SEED, "lengths");
  return Array.from({ length: count }, () =>
    Math.min(1024, Math.max(8, Math.round(120 * Math.exp(0.8 * random.normal())))),
  );
}

/** As large as SmolLM2-135M. */
export const OPEN_SHAPE = dimensionsOf({
  layers: 30,
  heads: 9,
  kvHeads: 3,
  width: 576,
  intermediateSize: 1536,
  vocabulary: 49_152,
  // A row of 2,048 is of as many predictions.
  context: 4096,
});

/** For the smallest sizes. */
export const TINY_OPEN_SHAPE = dimensionsOf({
  layers: 1,
  heads: 4,
  kvHeads: 2,
  width: 16,
  intermediateSize: 32,
  vocabulary: 512,
  context: 2048,
});

export const OPEN_LORA: LoraConfig = { r: 16, alpha: 32, targetModules: [...PROJECTIONS] };

export const OPEN_SEED = 1;
const TOKENS = 32_768;
const TEXTS = 8;

/** The real SmolLM2-135M, or random weights of its size. @returns its directory */
export function openModelOf(scope: Scope): string {
  if (scope.size === "tiny") return makeModel(scope.folder(), TINY_OPEN_SHAPE);
  return existsSync(REAL_WEIGHTS) ? REAL_WEIGHTS : makeModel(scope.folder(), OPEN_SHAPE);
}

/** That model with what it learns: Kit's own documentation. */
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

/** Of random weights, with one of the tests' tokenizers, which has fewer tokens than it. @returns its directory */
export function makeModel(folder: string, shape: Dimensions): string {
  const model = join(folder, "model");
  const { tokenizer, config } = smallTokenizer();
  saveModel(model, randomHalves(shape), { shape, promptStyle: "text" });
  writeFileSync(join(model, "tokenizer.json"), JSON.stringify(tokenizer));
  writeFileSync(join(model, "tokenizer_config.json"), JSON.stringify(config));
  return model;
}

/** Uniform, as wide as keeps a state's size from layer to layer; the upper halves of float32's bits. */
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

/** One as SmolLM's. */
function smallTokenizer() {
  const file = join(ROOT, "tests", "engines", "tokens", "reference", "tokens.json");
  const { families } = JSON.parse(readFileSync(file, "utf8")) as {
    families: Record<string, { tokenizer: object; config: object }>;
  };
  const style = families["SmolLM"];
  if (!style) throw new Error(`${file} has no tokenizer as SmolLM's.`);
  return style;
}
