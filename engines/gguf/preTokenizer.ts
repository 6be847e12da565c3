import { isRecord } from "../../protocol/isRecord.ts";
import { type Config } from "../modelFiles/configFile.ts";

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const NO_LETTER = "[^\\r\\n\\p{L}\\p{N}]?";
const SPACES = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** GPT-4's pattern, with variations in digits, letters and marks. */
const gpt4 = (digits: string, letters = "\\p{L}", marks = "") =>
  `${CONTRACTIONS}|${NO_LETTER}${letters}+|${digits}| ?[^\\s\\p{L}${marks}\\p{N}]+[\\r\\n]*|${SPACES}`;

/** A pattern that also splits before capitals. @param ending pattern of a word's ending, such as 's */
const camelCase = (digits: string, ending = "") =>
  `${NO_LETTER}${UPPER}*${LOWER}+${ending}|${NO_LETTER}${UPPER}+${LOWER}*${ending}|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`;

interface Split {
  /** Its name in llama.cpp, `tokenizer.ggml.pre`. */
  name: string;
  pattern: string;
  /** Whether a word that is a token stays whole, whatever the merges. */
  ignoresMerges: boolean;
}

const SPLITS: Split[] = [
  { name: "qwen2", pattern: gpt4("\\p{N}"), ignoresMerges: false },
  {
    name: "qwen35",
    pattern: gpt4("\\p{N}", "[\\p{L}\\p{M}]", "\\p{M}"),
    ignoresMerges: false,
  },
  { name: "llama-bpe", pattern: gpt4("\\p{N}{1,3}"), ignoresMerges: true },
  { name: "dbrx", pattern: gpt4("\\p{N}{1,3}"), ignoresMerges: false },
  { name: "tekken", pattern: camelCase("\\p{N}"), ignoresMerges: true },
  { name: "gpt-4o", pattern: camelCase("\\p{N}{1,3}", `${CONTRACTIONS}?`), ignoresMerges: false },
];

/**
 * llama.cpp's name of a byte-level BPE's pre-tokenizer, from the structure of `tokenizer.json`.
 * @param cleansSpaces whether decoding removes spaces before punctuation
 * @returns undefined if llama.cpp has none
 */
export function preTokenizerOf(tokenizer: Config, cleansSpaces: boolean): string | undefined {
  const { pre_tokenizer: pre, model } = tokenizer;
  const merges = isRecord(model) ? model["merges"] : undefined;
  const steps = stepsOf(pre);
  const last = steps.at(-1);
  if (last?.["type"] !== "ByteLevel" || last["add_prefix_space"] === true) return undefined;
  // Without merges, splitting changes nothing.
  if (Array.isArray(merges) && merges.length === 0) return "smollm";
  const [first, ...others] = steps.slice(0, -1);
  if (others.length > 0) return undefined;
  const ignoresMerges = isRecord(model) && model["ignore_merges"] === true;
  if (last["use_regex"] === false) {
    return SPLITS.find((split) => split.ignoresMerges === ignoresMerges && splitsBy(first, split))
      ?.name;
  }
  if (ignoresMerges) return undefined;
  // llama.cpp splits alike for both; only for "gpt-2" it cleans up spaces.
  if (!first) return cleansSpaces ? "gpt-2" : "trillion";
  return first["type"] === "Digits" && first["individual_digits"] === true ? "smollm" : undefined;
}

function stepsOf(pre: unknown): Config[] {
  if (!isRecord(pre)) return [];
  const inner = pre["pretokenizers"];
  return Array.isArray(inner) ? inner.filter(isRecord) : [pre];
}

function splitsBy(step: Config | undefined, { pattern }: Split): boolean {
  if (step?.["type"] !== "Split" || step["behavior"] !== "Isolated" || step["invert"] === true) {
    return false;
  }
  const { pattern: given } = step;
  const regex = isRecord(given) ? given["Regex"] : undefined;
  return typeof regex === "string" && regex.replace("\\p{N}{1}", "\\p{N}") === pattern;
}
