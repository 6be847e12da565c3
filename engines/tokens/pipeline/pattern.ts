import * as tokenizers from "@huggingface/tokenizers";
import { isRecord } from "../../../protocol/isRecord.ts";
import { Unsupported } from "./config.ts";

/** Finds matches in a text, as ranges of UTF-16 units. */
export type Find = (text: string) => [from: number, to: number][];

interface TokenizersPackage {
  SplitPreTokenizer: new (config: object) => { pattern?: RegExp };
}

// A static import, so that file tracers find the package; using one export keeps the bundle small.
const SplitPreTokenizer = (tokenizers as unknown as TokenizersPackage).SplitPreTokenizer;

/**
 * Compiles a `pattern` of `tokenizer.json`, whose syntax is Oniguruma's.
 * @throws Unsupported for an expression without a JavaScript equivalent
 */
export function findPattern(pattern: unknown): Find {
  const { String: text, Regex: source } = isRecord(pattern) ? pattern : {};
  if (typeof text === "string") return findMatches(new RegExp(escapeRegExp(text), "gu"));
  if (typeof source !== "string") throw new Error('a "pattern" is neither a String nor a Regex');
  return findMatches(expressionOf(source));
}

/** Non-overlapping matches. An empty match right after another match is skipped. */
export function findMatches(expression: RegExp): Find {
  return (text) => {
    const found: [number, number][] = [];
    if (text === "") return found;
    let last = -1;
    for (const { 0: match, index } of text.matchAll(expression)) {
      const to = index + match.length;
      // With lookbehind, JavaScript may match within a surrogate pair.
      if (splitsSurrogatePair(text, index) || splitsSurrogatePair(text, to)) continue;
      if (match !== "" || index !== last) found.push([index, to]);
      last = to;
    }
    return found;
  };
}

function expressionOf(source: string): RegExp {
  const feature = `the pattern ${JSON.stringify(source)}`;
  try {
    const { pattern } = new SplitPreTokenizer({ pattern: { Regex: source } });
    if (pattern) return source.includes("(?i") ? withCaseFolding(pattern) : pattern;
  } catch (cause) {
    throw new Unsupported(feature, { cause });
  }
  throw new Unsupported(feature);
}

/** Adds the non-ASCII case variants of s and k. */
function withCaseFolding({ source, flags }: RegExp): RegExp {
  return new RegExp(
    source.replaceAll("[sS]", "[sS\u017F]").replaceAll("[kK]", "[kK\u212A]"),
    flags,
  );
}

function splitsSurrogatePair(text: string, position: number): boolean {
  return (text.codePointAt(position - 1) ?? 0) > 0xffff;
}

function escapeRegExp(text: string): string {
  return text.replace(/[$()*+./?[\\\]^{|}]/g, "\\$&");
}
