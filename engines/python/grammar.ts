/**
 * Follows a form's grammar for a Python process: kit_engine/answer/grammar.py runs this file, bundled, in QuickJS, a context
 * for each grammar. So one code holds the answers of every engine.
 */
import { isKitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { type Form, formGrammar } from "../answers/form.ts";
import type { Expression } from "../answers/grammar/expression.ts";
import { createExpressions } from "../answers/grammar/expressions.ts";

const of = createExpressions();
/** By the numbers that Python knows them by; none is 0. */
const places: Expression[] = [];
const numbers = new Map<Expression, number>();
numberOf(of.none);

const FUNCTIONS = {
  begin: of.begin,
  isFresh: of.isFresh,
  /** Where an answer starts. @param count of expressions, as Node makes them; 0 if it may differ. @param dropsSpace whether it leaves out a space that it begins with */
  root(form: string, count: number, dropsSpace: boolean): number {
    const found = formGrammar(of, parseJson(form) as Form);
    if (count > 0 && of.count() !== count)
      throw new Error("QuickJS and Node make different grammars of a form");
    const space = dropsSpace ? of.repeat(of.text(" "), 0, 1) : of.empty;
    return numberOf(of.sequence(space, found));
  },
  isWhole: (place: number) => places[place]!.isNullable,
  isOver: (place: number) => places[place] === of.empty,
  clamp: (place: number, bytes: number) => numberOf(places[place]!.clamp(bytes)),
  /** The places after each byte. */
  row(place: number): number[] {
    const at = places[place]!;
    // First, since it refuses a rule that begins with itself, whose cuts never end.
    let after = numberOf(of.next(at, 0));
    const cuts = at.cuts();
    return Array.from({ length: 256 }, (_, byte) => {
      if (cuts.has(byte)) after = numberOf(of.next(at, byte));
      return after;
    });
  },
};

function numberOf(place: Expression): number {
  const number = numbers.get(place) ?? places.push(place) - 1;
  numbers.set(place, number);
  return number;
}

/** What Python calls. @param words arguments as JSON. @returns JSON of the value or a `KitError` */
function call(name: keyof typeof FUNCTIONS, words: string): string {
  try {
    const work = FUNCTIONS[name] as (...given: unknown[]) => unknown;
    return JSON.stringify({ value: work(...(JSON.parse(words) as unknown[])) });
  } catch (error) {
    if (!isKitError(error)) throw error;
    const { code, message, fault } = error;
    return JSON.stringify({ code, message, fault });
  }
}

Object.assign(globalThis, { call });
