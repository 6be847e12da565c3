import { KitError } from "../../../protocol/error.ts";
import { type Form, keyOf } from "./constraint.ts";
import type { Expression } from "./expression.ts";
import { createExpressions } from "./expressions.ts";

/** A grammar for another program, `Grammar` of kit_engine/grammar.py. Its expressions name others by their places. */
export interface WrittenGrammar {
  /** Equal ones have equal grammars. */
  key: string;
  /** Each after those that it is made of, but for a rule, which may come before. */
  expressions: WrittenExpression[];
  root: number;
}

export type WrittenExpression =
  | ["none"]
  | ["empty"]
  /** Ranges of bytes, each with its last. */
  | ["bytes", ...(readonly [number, number])[]]
  /** A character for each byte. */
  | ["text", string]
  | ["pair", number, number]
  | ["either", ...number[]]
  | ["both", ...number[]]
  | ["not", number]
  /** Of what without its point, and digits behind that at most. */
  | ["multiple", number, number]
  /** Of what, at least, at most, and whether there are more elements than that. */
  | ["unique", number, number, number, boolean]
  /** Of what, at least, at most (undefined for any number), and what counts as two. */
  | ["repeat", number, number, number | undefined, number]
  | ["rule", number];

/** Expressions at most. */
const MOST_WRITTEN = 200_000;
/** Grammars that are kept. */
const MOST_KEPT = 16;

const kept = new Map<string, WrittenGrammar>();

/** @throws KitError `REQUEST_INVALID` for a form that no answer can be held to */
export function writtenGrammar(form: Form): WrittenGrammar {
  const key = keyOf(form.key);
  const known = kept.get(key) ?? write(key, form.grammar);
  kept.delete(key);
  kept.set(key, known);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  return known;
}

function write(key: string, make: Form["grammar"]): WrittenGrammar {
  const of = createExpressions();
  const top = make(of);
  const written: WrittenExpression[] = [];
  const places = new Map<Expression, number>();
  const rules: { place: number; rule: Expression }[] = [];

  function add(expression: Expression, one: WrittenExpression): number {
    if (written.length === MOST_WRITTEN) throw tooLarge();
    places.set(expression, written.push(one) - 1);
    return written.length - 1;
  }

  function placeOf(expression: Expression): number {
    const known = places.get(expression);
    if (known !== undefined) return known;
    const { ranges, content, parts, choices, all, lacking, multiple } = expression;
    if (expression === of.none) return add(expression, ["none"]);
    if (expression === of.empty) return add(expression, ["empty"]);
    if (ranges) return add(expression, ["bytes", ...ranges]);
    if (content) return add(expression, ["text", Buffer.from(content()).toString("latin1")]);
    if (parts) return add(expression, ["pair", placeOf(parts[0]), placeOf(parts[1])]);
    if (choices) return add(expression, ["either", ...choices.map(placeOf)]);
    if (all) return add(expression, ["both", ...all.map(placeOf)]);
    if (lacking) return add(expression, ["not", placeOf(lacking)]);
    if (multiple) return add(expression, ["multiple", ...multiple]);
    if (expression.unique) {
      const { element, least, most, isEndless } = expression.unique;
      return add(expression, ["unique", placeOf(element), least, most, isEndless]);
    }
    if (expression.repeated) {
      const [one, least, most, double] = expression.repeated;
      const limit = most === Infinity ? undefined : most;
      return add(expression, ["repeat", placeOf(one), least, limit, placeOf(double)]);
    }
    const place = add(expression, ["rule", -1]);
    rules.push({ place, rule: expression });
    return place;
  }

  const root = placeOf(top);
  for (let next = rules.pop(); next; next = rules.pop()) {
    of.begin();
    written[next.place] = ["rule", placeOf(next.rule.body!())];
  }
  return { key, expressions: written, root };
}

function tooLarge(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `The schema takes more than ${MOST_WRITTEN} expressions to follow. Use fewer or simpler patterns and values.`,
  );
}
