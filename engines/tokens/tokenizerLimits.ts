import { KitError, isKitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { isTimeout, limitTime } from "./timeLimit.ts";

/** How many times longer the replacements of a tokenizer may make a text, all in turn. */
const MOST_GROWTH = 256;
/** What any text may take, and a character of it: far more than a real tokenizer takes. */
const LONGEST_S = 3;
const LONGEST_S_A_CHARACTER = 1e-4;

/**
 * @param file `tokenizer.json`, at `path`
 * @throws KitError `CHECKPOINT_INVALID` for one whose replacements could take all memory
 */
export function assertModestGrowth(path: string, file: Record<string, unknown>): void {
  const steps = ["normalizer", "pre_tokenizer", "decoder"].flatMap((part) => stepsOf(file[part]));
  const growth = steps.reduce((product, step) => product * growthOf(step), 1);
  if (growth <= MOST_GROWTH) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} has replacements that make a text more than ${MOST_GROWTH} times longer, which no real tokenizer does. Use another model.`,
  );
}

/** A step of a pipeline, and those in it. */
function stepsOf(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = value["normalizers"] ?? value["pretokenizers"] ?? value["decoders"];
  return [value, ...(Array.isArray(inner) ? inner.flatMap(stepsOf) : [])];
}

/** As if each character were replaced. */
function growthOf({ type, content, prepend }: Record<string, unknown>): number {
  const added = type === "Prepend" ? prepend : type === "Replace" ? content : undefined;
  return typeof added === "string" ? Math.max(1, added.length) : 1;
}

/**
 * Runs a tokenizer over a text of so many characters.
 * @param path of `tokenizer.json`
 * @throws KitError `CHECKPOINT_INVALID` when it takes too long, as a pattern may that tries every way
 * to split a text
 */
export function limitTokenizer<T>(path: string, characters: number, work: () => T): T {
  const seconds = Math.ceil(LONGEST_S + characters * LONGEST_S_A_CHARACTER);
  try {
    return limitTime(work, seconds * 1000);
  } catch (error) {
    if (isKitError(error) || !isTimeout(error)) throw error;
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The tokenizer at ${path} takes more than ${seconds} s for a text of ${characters} characters. Use another model.`,
      { cause: error },
    );
  }
}
