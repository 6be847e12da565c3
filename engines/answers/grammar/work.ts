import { KitError } from "../../../protocol/error.ts";

/** Step limit of each part of the work: a tenth of a second, of which properties of Unicode take most. */
const MAX_PART = 120_000;
/** Step limit of all parts together, for an answer of any length. */
const MAX_IN_ALL = 3_000_000;
/** Expressions of a grammar, at most. */
const MAX_EXPRESSIONS = 300_000;
/** Nesting limit of expressions, chosen so that the stack holds them. */
export const MAX_DEPTH = 2500;
/** Properties or places in a row, at most: each nests its text, what is between and those behind. */
export const MAX_IN_A_ROW = Math.floor(MAX_DEPTH / 3);

/** The work that a grammar may take. @param size counts its expressions */
export function createWork(size: () => number) {
  let left = MAX_PART;
  let leftInAll = MAX_IN_ALL;

  /** @throws KitError `REQUEST_INVALID` when they are used up */
  function spendSteps(steps: number): void {
    left -= steps;
    leftInAll -= steps;
    if (left >= 0 && leftInAll >= 0 && size() <= MAX_EXPRESSIONS) return;
    throw new KitError(
      "REQUEST_INVALID",
      "The schema allows so many answers in so many ways that it takes too long to follow. Use fewer or simpler patterns and repetitions.",
    );
  }

  return {
    spendSteps,
    /** Begins a new part. */
    beginPart: () => void (left = MAX_PART),
    /** In all parts. */
    stepsSpent: () => MAX_IN_ALL - leftInAll,
    hasBudget: () => leftInAll > MAX_IN_ALL / 2,
  };
}

/** The error for a grammar nested deeper than `MAX_DEPTH` or the stack allows. */
export function tooLarge(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The schema has too many properties, items or characters in a row, or is too deep, to follow. Make it smaller, or split it.",
  );
}
