import { KitError } from "../../protocol/error.ts";
import type { ModelShape } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };

/** Rows of a pretrained model are longer only if asked for: its context may be 100 times as long. */
const MOST_BY_DEFAULT = constants.longestRowByDefault;

/**
 * The longest row that a training accepts, in tokens.
 * @param maxLength as asked for; undefined means the model's context, of a pretrained one at most 1,024
 * @throws KitError `CONFIG_INVALID` when it exceeds the context
 */
export function rowLimit(
  maxLength: number | undefined,
  context: number,
  isPretrained = false,
): number {
  if (maxLength === undefined) return isPretrained ? Math.min(context, MOST_BY_DEFAULT) : context;
  if (maxLength <= context) return maxLength;
  throw new KitError(
    "CONFIG_INVALID",
    `"maxLength" must be at most the model's context of ${context} tokens, but is ${maxLength}.`,
  );
}

/** A share of all rows; a smaller one is an outlier or two. */
const MANY = 0.1;
/** No model here learns longer rows in reasonable time and memory. */
const MOST_CONTEXT = 16_384;

export interface LeftOut {
  /** Rows that are trained on, and rows that are left out because no answer fits; counts. */
  rows: number;
  leftOut: number;
  /** Tokens of the longest row that is left out. */
  needed: number;
  /** Effective maxLength, if below the context. */
  maxLength: number | undefined;
  /** The model's, in tokens. */
  context: number;
  /** Set for a model that starts from random weights, whose context can be changed. */
  shape?: ModelShape;
}

/** The options that would keep every row, once many are left out; undefined otherwise. */
export function keepLeftOut(found: LeftOut): string | undefined {
  const { rows, leftOut, needed, maxLength, context, shape } = found;
  if (leftOut <= MANY * (rows + leftOut)) return undefined;
  const option = maxLength === undefined ? "" : `maxLength: ${needed}`;
  if (needed <= context) return option;
  if (needed > MOST_CONTEXT) return `shorten the longest, which has ${needed} tokens`;
  const model = shape
    ? `model: { ${["layers", "heads", "width"].map((key) => `${key}: ${shape[key as keyof ModelShape]}`).join(", ")}, context: ${needed} }`
    : `a model with a context of ${needed} tokens`;
  return option ? `${model}, ${option}` : model;
}
