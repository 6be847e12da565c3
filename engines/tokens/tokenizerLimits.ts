import { KitError, isKitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { isTimeout, limitTime } from "./timeLimit.ts";

/** The parts of a `tokenizer.json` that are steps, and how those call theirs that are lists of them. */
const PARTS = ["normalizer", "pre_tokenizer", "post_processor", "decoder"];
const LISTS = ["normalizers", "pretokenizers", "processors", "decoders"];

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
  const steps = PARTS.flatMap((part) => stepsOf(file[part]));
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
  const inner = LISTS.map((list) => value[list]).find(Array.isArray) as unknown[] | undefined;
  return [value, ...(inner ?? []).flatMap(stepsOf)];
}

/** As if each character were replaced. */
function growthOf(step: Record<string, unknown>): number {
  const { type, content, prepend, pattern, replacement, str_rep: written } = step;
  if (type === "Prepend") return lengthOf(prepend);
  if (type === "Replace") return lengthOf(content) + (mayMatchNothing(pattern) ? 1 : 0);
  if (type === "Metaspace") return Math.max(lengthOf(replacement), lengthOf(written));
  if (type !== "TemplateProcessing") return 1;
  return Math.max(...[step["single"], step["pair"]].map(sequencesIn));
}

function lengthOf(text: unknown): number {
  return typeof text === "string" ? Math.max(1, text.length) : 1;
}

/** Then it adds something beside each character. Refuses some that never do. */
function mayMatchNothing(pattern: unknown): boolean {
  const { Regex: regex, String: text } = isRecord(pattern) ? pattern : {};
  if (typeof regex === "string") return regex === "" || NOTHING.test(regex);
  return text === "";
}

/** Whatever repeats from 0, looks around, or is one of several. */
const NOTHING = /[*?|(^$]|\\[bBAzZGK]|\{0?,/;

/** How often a template repeats the text, at least once. */
function sequencesIn(template: unknown): number {
  const pieces: unknown[] = Array.isArray(template) ? template : [];
  return Math.max(1, pieces.filter((piece) => isRecord(piece) && "Sequence" in piece).length);
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
