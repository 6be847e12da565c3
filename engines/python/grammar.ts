/**
 * Grammars for Python: kit_engine/answer/grammar.py runs this file, bundled, in QuickJS, with a context
 * for each grammar, so all engines share one implementation.
 */
import { isKitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { type ConstraintSpec, constraintGrammar } from "../answers/constraintSpec.ts";
import type { Expression } from "../answers/grammar/expression.ts";
import { createExpressions } from "../answers/grammar/expressions.ts";

const grammar = createExpressions();
/** States by number; 0 is the dead state. */
const expressions: Expression[] = [];
const numbers = new Map<Expression, number>();
numberOf(grammar.none);

const FUNCTIONS = {
  begin: grammar.beginPart,
  hasBudget: grammar.hasBudget,
  /** The initial state. @param count expressions that Node compiles the spec to; 0 skips the comparison. @param dropsSpace whether an answer drops its leading space */
  root(spec: string, count: number, dropsSpace: boolean): number {
    const found = constraintGrammar(grammar, parseJson(spec) as ConstraintSpec);
    if (count > 0 && grammar.count() !== count)
      throw new Error("QuickJS and Node compile a constraint to different grammars");
    const space = dropsSpace ? grammar.repeat(grammar.text(" "), 0, 1) : grammar.empty;
    return numberOf(grammar.sequence(space, found));
  },
  isAccepting: (state: number) => expressions[state]!.isNullable,
  isDone: (state: number) => expressions[state] === grammar.empty,
  clamp: (state: number, bytes: number) => numberOf(expressions[state]!.limitedTo(bytes)),
  /** The states after each byte. */
  transitions(state: number): number[] {
    const from = expressions[state]!;
    // Comes first: it refuses left recursion, for which `classStarts` would never end.
    let after = numberOf(grammar.derivative(from, 0));
    const starts = from.classStarts();
    return Array.from({ length: 256 }, (_, byte) => {
      if (starts.has(byte)) after = numberOf(grammar.derivative(from, byte));
      return after;
    });
  },
};

function numberOf(expression: Expression): number {
  const number = numbers.get(expression) ?? expressions.push(expression) - 1;
  numbers.set(expression, number);
  return number;
}

/** Python's entry point. @param args as JSON. @returns JSON of the value or a `KitError` */
function call(name: keyof typeof FUNCTIONS, args: string): string {
  try {
    const run = FUNCTIONS[name] as (...values: unknown[]) => unknown;
    return JSON.stringify({ value: run(...(JSON.parse(args) as unknown[])) });
  } catch (error) {
    if (!isKitError(error)) throw error;
    const { code, message, fault } = error;
    return JSON.stringify({ code, message, fault });
  }
}

Object.assign(globalThis, { call });
