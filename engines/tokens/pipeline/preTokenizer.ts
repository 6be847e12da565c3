import { byteText } from "../byteTokens.ts";
import {
  type Config,
  type Split,
  Unsupported,
  characterOf,
  flagOf,
  optionalComponent,
  components,
  makeComponent,
} from "./config.ts";
import { preservesStart } from "./normalizer.ts";
import { findMatches, findPattern } from "./pattern.ts";
import { type Behavior, BEHAVIORS, splitBy } from "./split.ts";

/** @param file `tokenizer.json` */
export function createPreTokenizer(file: Config): Split {
  const part = optionalComponent(file, "pre_tokenizer");
  if (part && prependsToFirst(part) && !preservesStart(file)) {
    throw new Unsupported(
      'the prepend_scheme "first" with a normalizer that may remove the first character',
    );
  }
  if (part && mayPrependTwice(part, optionalComponent(file, "normalizer") !== undefined)) {
    throw new Unsupported(
      'the prepend_scheme "first" after steps that may split the normalized first character',
    );
  }
  return part ? splitOf(part) : (preToken) => [preToken];
}

/**
 * Whether Hugging Face's tokenizers may prepend the space more than once: if one first character became several, and
 * an earlier step splits those, each piece counts as first.
 */
function mayPrependTwice(part: Config, hasNormalizer: boolean): boolean {
  if (part["type"] !== "Sequence") return false;
  const parts = components("pre_tokenizer", part, "pretokenizers");
  const last = parts.findLastIndex(prependsToFirst);
  return (
    last > 0 &&
    (hasNormalizer || parts.slice(0, last).some((step) => !SPLITTERS.has(String(step["type"]))))
  );
}

/** Steps that only split. */
const SPLITTERS = new Set(["Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit"]);

/** Whether a step prepends a space to the first pre-token only. */
function prependsToFirst(part: Config): boolean {
  if (part["type"] === "Sequence") {
    return components("pre_tokenizer", part, "pretokenizers").some(prependsToFirst);
  }
  return part["type"] === "Metaspace" && part["prepend_scheme"] === "first";
}

function splitOf(part: Config): Split {
  return makeComponent(FACTORIES, "pre_tokenizer", part);
}

const SPACES = findMatches(/\p{White_Space}/gu);
const PUNCTUATION = findMatches(/[!-/:-@[-`{-~\p{P}]/gu);
const NUMBERS = findMatches(/\p{N}/gu);
/** Words and punctuation. */
const WORDS =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;
/** GPT-2's pattern. */
const GPT2 = {
  Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
};

const FACTORIES: Record<string, (part: Config) => Split> = {
  Sequence: (part) => chained(...components("pre_tokenizer", part, "pretokenizers").map(splitOf)),
  ByteLevel: byteLevel,
  Metaspace: metaspace,
  Split: (part) =>
    splitBy(findPattern(part["pattern"]), behaviorOf(part), flagOf(part, "invert", false)),
  Digits: (part) =>
    splitBy(NUMBERS, flagOf(part, "individual_digits", false) ? "Isolated" : "Contiguous"),
  Punctuation: (part) => splitBy(PUNCTUATION, behaviorOf(part, "Isolated")),
  Whitespace: () => splitBy(findMatches(WORDS), "Removed", true),
  WhitespaceSplit: () => splitBy(SPACES, "Removed"),
};

function chained(...splits: Split[]): Split {
  return (preToken) => splits.reduce((preTokens, split) => preTokens.flatMap(split), [preToken]);
}

function byteLevel(part: Config): Split {
  const addsSpace = flagOf(part, "add_prefix_space");
  const split = flagOf(part, "use_regex", true)
    ? splitBy(findPattern(GPT2), "Isolated")
    : (preToken: Parameters<Split>[0]) => [preToken];
  return ({ text, isFirst }) => {
    const spaced = addsSpace && !text.startsWith(" ") ? ` ${text}` : text;
    return split({ text: spaced, isFirst }).map((item) => ({ ...item, text: byteText(item.text) }));
  };
}

function metaspace(part: Config): Split {
  const space = characterOf(part, "replacement");
  const scheme = prependScheme(part);
  const split = splitBy(findPattern({ String: space }), "MergedWithNext");
  const splits = flagOf(part, "split", true);
  return ({ text, isFirst }) => {
    const spaced = text.replaceAll(" ", () => space);
    const prepends = scheme === "always" || (scheme === "first" && isFirst);
    const whole = {
      text: prepends && !spaced.startsWith(space) ? space + spaced : spaced,
      isFirst,
    };
    return splits ? split(whole) : [whole];
  };
}

/** When Metaspace prepends a space: "always", "first" (pre-token only) or "never". */
export function prependScheme(part: Config): string {
  const scheme = part["prepend_scheme"] ?? "always";
  if (scheme !== "always" && scheme !== "first" && scheme !== "never") {
    throw new Unsupported(`the prepend_scheme ${JSON.stringify(scheme)}`);
  }
  if (part["add_prefix_space"] === false && scheme !== "never") {
    throw new Error(`"add_prefix_space" is false, but "prepend_scheme" is "${scheme}"`);
  }
  return scheme;
}

function behaviorOf(part: Config, fallback?: Behavior): Behavior {
  const behavior = BEHAVIORS.find((name) => name === (part["behavior"] ?? fallback));
  if (behavior) return behavior;
  throw new Unsupported(`the behavior ${JSON.stringify(part["behavior"])}`);
}
