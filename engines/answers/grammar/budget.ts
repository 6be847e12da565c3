import { KitError } from "../../../protocol/error.ts";

/** Maximum steps to compile a grammar, or to find the tokens that may follow: about 0.1 s. */
const MAX_PART_STEPS = 120_000;
/** Maximum steps in all, however long the answer is. */
const MAX_STEPS = 3_000_000;
/** Maximum expressions of a grammar. */
const MAX_EXPRESSIONS = 300_000;
/** Maximum nesting of expressions, which the stack can hold. */
export const MAX_DEPTH = 2500;
/** Maximum properties or prefix items: each nests three expressions. */
export const MAX_SIBLINGS = Math.floor(MAX_DEPTH / 3);

/** Counts the work that a grammar takes. @param expressionCount returns the number of its expressions */
export function createBudget(expressionCount: () => number) {
  let remainingInPart = MAX_PART_STEPS;
  let remaining = MAX_STEPS;

  /** @throws KitError `REQUEST_INVALID` above a limit */
  function spendSteps(steps: number): void {
    remainingInPart -= steps;
    remaining -= steps;
    if (remainingInPart >= 0 && remaining >= 0 && expressionCount() <= MAX_EXPRESSIONS) return;
    throw new KitError(
      "REQUEST_INVALID",
      "The schema is too complex: it allows too many combinations. Use fewer or simpler patterns and repetitions.",
    );
  }

  return {
    spendSteps,
    beginPart: () => void (remainingInPart = MAX_PART_STEPS),
    /** Steps spent in all. */
    stepsSpent: () => MAX_STEPS - remaining,
    hasBudget: () => remaining > MAX_STEPS / 2,
  };
}

/** The error for a grammar nested deeper than `MAX_DEPTH` or the stack allows. */
export function tooLarge(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The schema is nested too deeply, or has too many properties, items or characters in a row. Make it smaller, or split it.",
  );
}
