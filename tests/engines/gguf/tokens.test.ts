import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { tinyWeights } from "../embedded/tiny.ts";
import { REAL_WEIGHTS, hasRealWeights } from "../realWeights/realWeights.ts";
import { createSource } from "../tokens/source.ts";
import { type Style, STYLES, withAllMerges, writeTokenizer } from "../tokens/styles.ts";
import { askLlama, hasLlama } from "./llama.ts";

/** 10,000 with `KIT_TOKENS=all`. */
const TEXTS = process.env["KIT_TOKENS"] === "all" ? 10_000 : 500;

const SHAPE = dimensionsOf({ layers: 1, heads: 2, width: 32, context: 64 });

interface Steps {
  pre_tokenizer: object;
  model: object;
}

/** The style of another with what splits texts as Mistral's tekken does, or as GPT-2. */
function splitBy(style: Style, steps: object, model: object = {}): Style {
  const tokenizer = style.tokenizer as Steps;
  return {
    ...style,
    tokenizer: { ...tokenizer, pre_tokenizer: steps, model: { ...tokenizer.model, ...model } },
  };
}

const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };
const TEKKEN =
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const KNOWN: Record<string, Style> = {
  SmolLM: STYLES["SmolLM"]!,
  "Llama 3": STYLES["Llama 3"]!,
  Qwen: STYLES["Qwen 3"]!,
  tekken: splitBy(
    STYLES["Qwen 3"]!,
    {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: TEKKEN }, behavior: "Isolated", invert: false },
        { ...BYTE_LEVEL, use_regex: false },
      ],
    },
    { ignore_merges: true },
  ),
  Gemma: withAllMerges(STYLES["Gemma 3"]!),
  "GPT-2": splitBy(STYLES["SmolLM"]!, { ...BYTE_LEVEL, use_regex: true }),
};

/** A model with such a tokenizer. */
function save(style: Style): string {
  const shape = { ...SHAPE, vocabulary: style.size };
  const path = join(scratchDirectory(), "model");
  saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "text" });
  writeTokenizer(path, style, { prompt_style: "text" });
  return path;
}

describe.runIf(hasLlama)("in llama.cpp", () => {
  test.each(Object.keys(KNOWN))(
    "texts become Kit's tokens with a tokenizer like %s's",
    async (name) => {
      const model = save(KNOWN[name]!);
      await expectSameTokens(model, KNOWN[name]!.size);
    },
  );
  test.runIf(hasRealWeights)("texts become Kit's tokens with SmolLM2's own", async () => {
    await expectSameTokens(REAL_WEIGHTS, 49_152);
  });
});

async function expectSameTokens(model: string, size: number): Promise<void> {
  const { path } = await exportModel(model, join(scratchDirectory(), "to"), { format: "gguf" });
  const source = createSource(1);
  // llama.cpp takes texts as they are, which Qwen's tokenizers compose first.
  const texts = Array.from({ length: TEXTS }, () => source.text().normalize("NFC"));
  const told = await askLlama({ file: path, texts });
  const { tokenizer } = openTokenizer(model, size);
  const ours = texts.map((prompt) => tokenizer.promptTokens({ prompt }, "text"));
  const theirs = told.ids.map((ids) => (told.addsBos ? [told.bos, ...ids] : ids));
  expect(texts.filter((_, i) => String(theirs[i]) !== String(ours[i]))).toEqual([]);
}
