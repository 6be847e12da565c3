import { KitError } from "../../../protocol/error.ts";

/** Step limit of each part of the work, about a tenth of a second; Unicode properties take the most. */
const MAX_PART = 120_000;
/** Step limit of all parts together, however long the answer is. */
const MAX_IN_ALL = 3_000_000;
/** Limit of a grammar's expressions. */
const MAX_EXPRESSIONS = 300_000;
/** Nesting limit of expressions, within the stack. */
export const MAX_DEPTH = 2500;
/** Limit of properties or prefix items: each nests three expressions. */
export const MAX_SIBLINGS = Math.floor(MAX_DEPTH / 3);

/** Counts the work that a grammar takes. @param size returns the number of its expressions */
export function createBudget(size: () => number) {
  let left = MAX_PART;
  let leftInAll = MAX_IN_ALL;

  /** @throws KitError `REQUEST_INVALID` above a limit */
  function spendSteps(steps: number): void {
    left -= steps;
    leftInAll -= steps;
    if (left >= 0 && leftInAll >= 0 && size() <= MAX_EXPRESSIONS) return;
    throw new KitError(
      "REQUEST_INVALID",
      "The schema is too complex: it allows too many combinations. Use fewer or simpler patterns and repetitions.",
    );
  }

  return {
    spendSteps,
    beginPart: () => void (left = MAX_PART),
    /** Of all parts. */
    stepsSpent: () => MAX_IN_ALL - leftInAll,
    hasBudget: () => leftInAll > MAX_IN_ALL / 2,
  };
}

/** The error for a grammar nested deeper than `MAX_DEPTH` or the stack allows. */
export function tooLarge(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The schema is nested too deeply, or has too many properties, items or characters in a row. Make it smaller, or split it.",
  );
}
