import { KitError, isKitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { isTimeout, limitTime } from "./timeLimit.ts";

/** Keys of a `tokenizer.json`'s steps, and of steps nested in them. */
const PARTS = ["normalizer", "pre_tokenizer", "post_processor", "decoder"];
const LISTS = ["normalizers", "pretokenizers", "processors", "decoders"];

/** Maximum factor by which all replacements together may lengthen a text. */
const MAX_GROWTH = 256;
/** Time limits, far above what real tokenizers need. */
const BASE_SECONDS = 3;
const SECONDS_PER_CHARACTER = 1e-4;

/**
 * @param file `tokenizer.json`, at `path`
 * @throws KitError `CHECKPOINT_INVALID` if its replacements could exhaust memory
 */
export function assertBoundedGrowth(path: string, file: Record<string, unknown>): void {
  const steps = PARTS.flatMap((part) => stepsOf(file[part]));
  const growth = steps.reduce((product, step) => product * growthOf(step), 1);
  if (growth <= MAX_GROWTH) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} has replacements that could make a text more than ${MAX_GROWTH} times longer. Use another model.`,
  );
}

/** A step and those nested in it. */
function stepsOf(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = LISTS.map((list) => value[list]).find(Array.isArray) as unknown[] | undefined;
  return [value, ...(inner ?? []).flatMap(stepsOf)];
}

/** The factor by which a step may lengthen a text, if it replaces every character. */
function growthOf(step: Record<string, unknown>): number {
  const { type, content, prepend, pattern, replacement, str_rep: oldReplacement } = step;
  if (type === "Prepend") return lengthOf(prepend);
  if (type === "Replace") return lengthOf(content) + (mayMatchEmpty(pattern) ? 1 : 0);
  if (type === "Metaspace") return Math.max(lengthOf(replacement), lengthOf(oldReplacement));
  if (type !== "TemplateProcessing") return 1;
  return Math.max(...[step["single"], step["pair"]].map(sequencesIn));
}

function lengthOf(text: unknown): number {
  return typeof text === "string" ? Math.max(1, text.length) : 1;
}

/** Whether a pattern may match the empty text, and so insert at every character. True if in doubt. */
function mayMatchEmpty(pattern: unknown): boolean {
  const { Regex: regex, String: text } = isRecord(pattern) ? pattern : {};
  if (typeof regex === "string") return regex === "" || MAY_MATCH_EMPTY.test(regex);
  return text === "";
}

/** Matches patterns that may repeat something zero times, look around, or have alternatives. */
const MAY_MATCH_EMPTY = /[*?|(^$]|\\[bBAzZGK]|\{0?,/;

/** How often a template repeats the text; at least once. */
function sequencesIn(template: unknown): number {
  const items: unknown[] = Array.isArray(template) ? template : [];
  return Math.max(1, items.filter((item) => isRecord(item) && "Sequence" in item).length);
}

/**
 * Runs a tokenizer with a time limit that depends on the text's length.
 * @param path of `tokenizer.json`
 * @throws KitError `CHECKPOINT_INVALID` at the limit, as with a pattern that backtracks exponentially
 */
export function limitTokenizer<T>(path: string, characters: number, work: () => T): T {
  const seconds = Math.ceil(BASE_SECONDS + characters * SECONDS_PER_CHARACTER);
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
