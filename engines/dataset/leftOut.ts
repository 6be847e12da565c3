import type { ModelShape } from "../../protocol/trainConfig.ts";

/** Of all rows; fewer are an outlier or two. */
const MANY = 0.1;

export interface LeftOut {
  /** Rows that are trained on, and rows that are not because no answer fits; counts. */
  rows: number;
  leftOut: number;
  /** Tokens of the longest row that is left out. */
  needed: number;
  /** The option, if it is set. */
  maxLength: number | null;
  /** The model's, in tokens. */
  context: number;
  /** Of a model that starts from random weights, so that it could have another context. */
  shape?: ModelShape;
}

/** What to set so that no row is left out, once many are; undefined otherwise. */
export function keepLeftOut(found: LeftOut): string | undefined {
  const { rows, leftOut, needed, maxLength, context, shape } = found;
  if (leftOut <= MANY * (rows + leftOut)) return undefined;
  const option = maxLength === null ? "" : `maxLength: ${needed}`;
  if (needed <= context) return option;
  const model = shape
    ? `model: { ${["layers", "heads", "width"].map((key) => `${key}: ${shape[key as keyof ModelShape]}`).join(", ")}, context: ${needed} }`
    : `a model with a context of ${needed} tokens`;
  return option ? `${model}, ${option}` : model;
}
