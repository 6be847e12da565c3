import { KitError, isKitError, messageOf } from "../../../protocol/error.ts";
import {
  type Range,
  ANY_CHAR,
  bareCharacterOf,
  characterOf,
  union,
  without,
} from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

const DIGIT: Range[] = [[0x30, 0x39]];
const WORD: Range[] = [...DIGIT, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
/** White space as ECMAScript defines it. */
const SPACE: Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LINE_TERMINATORS: Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
/** What `.` matches. */
const NOT_LINE_END = without(ANY_CHAR, LINE_TERMINATORS);
const CLASSES: Record<string, readonly Range[]> = {
  d: DIGIT,
  D: without(ANY_CHAR, DIGIT),
  w: WORD,
  W: without(ANY_CHAR, WORD),
  s: SPACE,
  S: without(ANY_CHAR, SPACE),
};
const CONTROL_ESCAPES: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13, "0": 0 };

/** Prepends a part of the pattern to the rest, which lookaheads must see. */
type Prepend = (rest: Expression) => Expression;

/** Maximum nesting of groups. */
const MAX_DEPTH = 100;

/**
 * Compiles a regular expression with the `u` flag to the texts that it matches, as written in a JSON string.
 * @param write how to write a character. With a function other than the default, the pattern must match the whole text
 * @throws Error naming a feature that an automaton can't express, such as a backreference
 */
export function patternOf(grammar: Expressions, source: string, write = characterOf): Expression {
  const characters = [...source];
  let at = 0;
  let depth = 0;
  let lookaheads = 0;
  const oneOf = (ranges: readonly Range[]) => write(grammar, ranges);
  const any = grammar.any(oneOf(ANY_CHAR));
  /** What may precede and follow a match. */
  const padding = write === characterOf ? any : grammar.empty;

  const peek = (text: string) =>
    characters[at] === text[0] && characters.slice(at, at + text.length).join("") === text;
  function take(text: string): boolean {
    if (!peek(text)) return false;
    at += text.length;
    return true;
  }

  /** @param kind "whole" for the whole pattern; anything may follow a "lookahead" */
  function alternatives(kind: "whole" | "group" | "lookahead"): Prepend {
    const found: Prepend[] = [];
    do {
      const isFromStart = kind !== "group" && take("^");
      const parts = sequence(kind);
      const isToEnd = kind === "group" || take("$");
      found.push((rest) => {
        const after = isToEnd ? rest : grammar.sequence(kind === "lookahead" ? any : padding, rest);
        const text = parts.reduceRight((next, part) => part(next), after);
        return kind === "whole" && !isFromStart ? grammar.sequence(padding, text) : text;
      });
    } while (take("|"));
    return (rest) => grammar.either(...found.map((follow) => follow(rest)));
  }

  function sequence(kind: string): Prepend[] {
    const parts: Prepend[] = [];
    while (at < characters.length && !peek("|") && !peek(")")) {
      if (kind !== "group" && isEnd()) break;
      const before = lookaheads;
      const isGroup = peek("(");
      const part = isGroup ? group() : prepend(atom());
      parts.push(repeated(part, lookaheads > before));
    }
    return parts;
  }

  function prepend(text: Expression): Prepend {
    return (rest) => grammar.sequence(text, rest);
  }

  /** Whether a `$` ends the alternative. */
  function isEnd(): boolean {
    return peek("$") && (at + 1 === characters.length || "|)".includes(characters[at + 1]!));
  }

  function repeated(part: Prepend, hasLookahead: boolean): Prepend {
    const [min, max] = quantifier();
    take("?");
    if (!hasLookahead) return prepend(grammar.repeat(part(grammar.empty), min, max));
    if (max > 1) throw new Error("a repeated lookahead");
    return (rest) =>
      grammar.either(max > 0 ? part(rest) : grammar.none, min === 0 ? rest : grammar.none);
  }

  function quantifier(): [number, number] {
    if (take("*")) return [0, Infinity];
    if (take("+")) return [1, Infinity];
    if (take("?")) return [0, 1];
    const found =
      peek("{") && /^\{(\d+)(?:(,)(\d*))?\}/.exec(characters.slice(at, at + 24).join(""));
    if (!found) return [1, 1];
    at += found[0].length;
    const [, first, comma, last] = found;
    const min = Number(first);
    if (comma === undefined) return [min, min];
    return [min, last === "" ? Infinity : Number(last)];
  }

  function atom(): Expression {
    if (take("[")) return oneOf(characterClass());
    if (take(".")) return oneOf(NOT_LINE_END);
    if (take("\\")) return oneOf(escape());
    const character = characters[at] ?? "";
    if ("^$".includes(character)) throw new Error(`"${character}" in the middle`);
    if ("*+?{}])".includes(character)) throw new Error(`an unescaped "${character}"`);
    at++;
    const code = character.codePointAt(0)!;
    return oneOf([[code, code]]);
  }

  function group(): Prepend {
    take("(");
    const isNegative = peek("?!");
    if (take("?=") || take("?!")) {
      lookaheads++;
      const ahead = nested("lookahead")(grammar.empty);
      return (rest) => grammar.intersection(rest, isNegative ? grammar.complement(ahead) : ahead);
    }
    if (peek("?<=") || peek("?<!")) throw new Error("a lookbehind");
    if (take("?<")) while (at < characters.length && !take(">")) at++;
    else if (!take("?:") && peek("?")) throw new Error("flags in a group");
    return nested("group");
  }

  function nested(kind: "group" | "lookahead"): Prepend {
    if (++depth > MAX_DEPTH) throw new Error(`groups deeper than ${MAX_DEPTH}`);
    const found = alternatives(kind);
    if (!take(")")) throw new Error('an unclosed "("');
    depth--;
    return found;
  }

  function escape(): readonly Range[] {
    const letter = characters[at++] ?? "";
    const ranges = CLASSES[letter];
    if (ranges) return ranges;
    if (/[pP]/.test(letter) && take("{")) {
      const from = at;
      while (at < characters.length && !take("}")) at++;
      return charactersWith(grammar, `\\${letter}{${characters.slice(from, at).join("")}`);
    }
    const code = codeOf(letter);
    return [[code, code]];
  }

  function codeOf(letter: string): number {
    if (letter === "0" && /\d/.test(characters[at] ?? "")) throw new Error("an octal escape");
    const control = CONTROL_ESCAPES[letter];
    if (control !== undefined) return control;
    if (letter === "x") return hex(2);
    if (letter === "u" && take("{")) {
      const end = characters.indexOf("}", at);
      const code = hex(end - at);
      at++;
      return code;
    }
    if (letter === "u") return pairOf(hex(4));
    if (letter === "c") return (characters[at++] ?? "").charCodeAt(0) % 32;
    if (/[1-9k]/.test(letter)) throw new Error("a backreference");
    if (/[bB]/.test(letter)) throw new Error("a word boundary");
    if (letter === "" || /[a-z]/i.test(letter)) throw new Error(`"\\${letter}"`);
    return letter.codePointAt(0)!;
  }

  /** The character that a surrogate pair encodes. */
  function pairOf(code: number): number {
    if (code < 0xd800 || code > 0xdbff || !take("\\u")) return code;
    return String.fromCharCode(code, hex(4)).codePointAt(0)!;
  }

  function hex(length: number): number {
    const digits = characters.slice(at, at + length).join("");
    if (length < 1 || !/^[0-9a-f]+$/i.test(digits) || digits.length < length) {
      throw new Error("an incomplete escape");
    }
    at += length;
    const code = Number.parseInt(digits, 16);
    if (code > 0x10ffff) throw new Error("a code point above 10FFFF");
    return code;
  }

  function characterClass(): Range[] {
    const isNegated = take("^");
    const ranges: Range[] = [];
    while (!take("]")) {
      if (at >= characters.length) throw new Error('an unclosed "["');
      const first = classMember();
      if (first.length !== 1 || !peek("-") || characters[at + 1] === "]") {
        ranges.push(...first);
        continue;
      }
      at++;
      const last = classMember();
      const [from, to] = [first[0]![0], last[0]![1]];
      if (last.length !== 1 || from !== first[0]![1] || from > to)
        throw new Error("an invalid range");
      ranges.push([from, to]);
    }
    return isNegated ? without(ANY_CHAR, ranges) : union(ranges);
  }

  function classMember(): readonly Range[] {
    if (take("\\")) {
      // In a class, `\b` is a backspace.
      if (take("b")) return [[8, 8]];
      if (take("-")) return [[0x2d, 0x2d]];
      return escape();
    }
    const code = characters[at++]!.codePointAt(0)!;
    return [[code, code]];
  }

  // JavaScript itself rejects an invalid pattern.
  void new RegExp(source, "u");
  const found = alternatives("whole")(grammar.empty);
  if (at < characters.length) throw new Error('an unmatched ")"');
  return found;
}

/** Compiles a schema's pattern, as written in JSON. @throws KitError `REQUEST_INVALID` for an unsupported feature */
export function schemaPattern(grammar: Expressions, source: unknown): Expression {
  if (typeof source !== "string") throw unsupported('"pattern" that is not a string');
  return compile(grammar, source, characterOf, (why) =>
    unsupported(`"pattern" ${JSON.stringify(source.slice(0, 60))} (${why})`),
  );
}

/** Compiles a regular expression that must match the whole text. @throws KitError as `schemaPattern` */
export function textPattern(grammar: Expressions, source: string): Expression {
  return compile(
    grammar,
    source,
    bareCharacterOf,
    (why) =>
      new KitError(
        "REQUEST_INVALID",
        `Kit can't enforce the regular expression ${JSON.stringify(source.slice(0, 60))} (${why}). Remove that part.`,
      ),
  );
}

function compile(
  grammar: Expressions,
  source: string,
  write: typeof characterOf,
  problem: (why: string) => KitError,
): Expression {
  grammar.spendSteps(source.length >>> 2);
  try {
    return patternOf(grammar, source, write);
  } catch (error) {
    throw isKitError(error) ? error : problem(messageOf(error));
  }
}

/** Many, since a Unicode property is tested on all characters. */
const STEPS_PER_PROPERTY = 30_000;
const cachedProperties = new Map<string, readonly Range[]>();

/** @param property as in a pattern, without the closing brace */
function charactersWith(grammar: Expressions, property: string): readonly Range[] {
  const cached = cachedProperties.get(property);
  if (cached) return cached;
  grammar.spendSteps(STEPS_PER_PROPERTY);
  const has = new RegExp(property, "u");
  const found: [number, number][] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (!has.test(String.fromCodePoint(code))) continue;
    const last = found.at(-1);
    if (last?.[1] === code - 1) last[1] = code;
    else found.push([code, code]);
  }
  cachedProperties.set(property, found);
  return found;
}
