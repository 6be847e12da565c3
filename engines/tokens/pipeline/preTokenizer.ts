import { byteText } from "../byteTokens.ts";
import { keepsStart } from "./normalizer.ts";
import {
  type Config,
  type Cut,
  UnknownPart,
  characterOf,
  flagOf,
  optionalPart,
  partsOf,
  unknownType,
} from "./parts.ts";
import { findMatches, findPattern } from "./pattern.ts";
import { type Behavior, BEHAVIORS, splitBy } from "./split.ts";

/** @param file `tokenizer.json` */
export function createPreTokenizer(file: Config): Cut {
  const part = optionalPart(file, "pre_tokenizer");
  if (part && marksFirst(part) && !keepsStart(file)) {
    throw new UnknownPart(
      'the prepend_scheme "first" beside a normalizer that may take the first character away',
    );
  }
  if (part && marksLate(part, optionalPart(file, "normalizer") !== undefined)) {
    throw new UnknownPart(
      'the prepend_scheme "first" behind steps that may cut what the first character became',
    );
  }
  return part ? cutOf(part) : (piece) => [piece];
}

/** Each part of what the first character became is first to Hugging Face's tokenizers. */
function marksLate(part: Config, grows: boolean): boolean {
  if (part["type"] !== "Sequence") return false;
  const parts = partsOf("pre_tokenizer", part, "pretokenizers");
  const last = parts.findLastIndex(marksFirst);
  return last > 0 && (grows || parts.slice(0, last).some((one) => !CUTS.has(String(one["type"]))));
}

/** Steps that add and replace nothing. */
const CUTS = new Set([...["Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit"]]);

/** Whether it puts a space before the text alone. */
function marksFirst(part: Config): boolean {
  if (part["type"] === "Sequence") {
    return partsOf("pre_tokenizer", part, "pretokenizers").some(marksFirst);
  }
  return part["type"] === "Metaspace" && part["prepend_scheme"] === "first";
}

function cutOf(part: Config): Cut {
  const make = Object.hasOwn(MAKERS, String(part["type"])) && MAKERS[String(part["type"])];
  if (!make) throw unknownType("pre_tokenizer", part);
  return make(part);
}

const SPACES = findMatches(/\p{White_Space}/gu);
const PUNCTUATION = findMatches(/[!-/:-@[-`{-~\p{P}]/gu);
const NUMBERS = findMatches(/\p{N}/gu);
/** Words and the marks between them. */
const WORDS =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;
/** How GPT-2 splits. */
const GPT2 = {
  Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
};

const MAKERS: Record<string, (part: Config) => Cut> = {
  Sequence: (part) => inTurn(...partsOf("pre_tokenizer", part, "pretokenizers").map(cutOf)),
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

function inTurn(...cuts: Cut[]): Cut {
  return (piece) => cuts.reduce((pieces, cut) => pieces.flatMap(cut), [piece]);
}

function byteLevel(part: Config): Cut {
  const addsSpace = flagOf(part, "add_prefix_space");
  const cut = flagOf(part, "use_regex", true)
    ? splitBy(findPattern(GPT2), "Isolated")
    : (piece: Parameters<Cut>[0]) => [piece];
  return ({ text, isFirst }) => {
    const spaced = addsSpace && !text.startsWith(" ") ? ` ${text}` : text;
    return cut({ text: spaced, isFirst }).map((one) => ({ ...one, text: byteText(one.text) }));
  };
}

function metaspace(part: Config): Cut {
  const space = characterOf(part, "replacement");
  const scheme = prependScheme(part);
  const cut = splitBy(findPattern({ String: space }), "MergedWithNext");
  const splits = flagOf(part, "split", true);
  return ({ text, isFirst }) => {
    const spaced = text.replaceAll(" ", () => space);
    const prepends = scheme === "always" || (scheme === "first" && isFirst);
    const whole = {
      text: prepends && !spaced.startsWith(space) ? space + spaced : spaced,
      isFirst,
    };
    return splits ? cut(whole) : [whole];
  };
}

/** Where Metaspace puts a space before. */
export function prependScheme(part: Config): string {
  const scheme = part["prepend_scheme"] ?? "always";
  if (scheme !== "always" && scheme !== "first" && scheme !== "never") {
    throw new UnknownPart(`the prepend_scheme ${JSON.stringify(scheme)}`);
  }
  if (part["add_prefix_space"] === false && scheme !== "never") {
    throw new Error(`"add_prefix_space" is false beside a "prepend_scheme" that is "${scheme}"`);
  }
  return scheme;
}

function behaviorOf(part: Config, usual?: Behavior): Behavior {
  const behavior = BEHAVIORS.find((one) => one === (part["behavior"] ?? usual));
  if (behavior) return behavior;
  throw new UnknownPart(`the behavior ${JSON.stringify(part["behavior"])}`);
}
