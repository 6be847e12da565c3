import * as tokenizers from "@huggingface/tokenizers";
import { isRecord } from "../../../protocol/isRecord.ts";
import { UnknownPart } from "./parts.ts";

/** Where a text matches, from and to, in units of UTF-16. */
export type Find = (text: string) => [from: number, to: number][];

interface Package {
  SplitPreTokenizer: new (config: object) => { pattern?: RegExp };
}

// Imported, not required: file tracers find no other form.
// By its own name, so that the bundle holds no other.
const SplitPreTokenizer = (tokenizers as unknown as Package).SplitPreTokenizer;

/**
 * Finds a `pattern` of `tokenizer.json`, whose expressions are Oniguruma's.
 * @throws UnknownPart for an expression that JavaScript has no like of
 */
export function findPattern(pattern: unknown): Find {
  const { String: text, Regex: source } = isRecord(pattern) ? pattern : {};
  if (typeof text === "string") return findMatches(new RegExp(escaped(text), "gu"));
  if (typeof source !== "string") throw new Error('a "pattern" is neither a String nor a Regex');
  return findMatches(expressionOf(source));
}

/** Each match from where the last one ends; an empty one only where none has just ended. */
export function findMatches(expression: RegExp): Find {
  return (text) => {
    const found: [number, number][] = [];
    if (text === "") return found;
    let last = -1;
    for (const { 0: match, index } of text.matchAll(expression)) {
      const to = index + match.length;
      // To look behind, JavaScript also stands between the halves of a pair.
      if (isInPair(text, index) || isInPair(text, to)) continue;
      if (match !== "" || index !== last) found.push([index, to]);
      last = to;
    }
    return found;
  };
}

function expressionOf(source: string): RegExp {
  const refusal = `the pattern ${JSON.stringify(source)}`;
  try {
    const { pattern } = new SplitPreTokenizer({ pattern: { Regex: source } });
    if (pattern) return source.includes("(?i") ? withFolds(pattern) : pattern;
  } catch (cause) {
    throw new UnknownPart(refusal, { cause });
  }
  throw new UnknownPart(refusal);
}

/** Characters outside of ASCII that are the same letter in another case. */
function withFolds({ source, flags }: RegExp): RegExp {
  return new RegExp(
    source.replaceAll("[sS]", "[sS\u017F]").replaceAll("[kK]", "[kK\u212A]"),
    flags,
  );
}

function isInPair(text: string, place: number): boolean {
  return (text.codePointAt(place - 1) ?? 0) > 0xffff;
}

function escaped(text: string): string {
  return text.replace(/[$()*+./?[\\\]^{|}]/g, "\\$&");
}
