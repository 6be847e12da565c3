import { KitError } from "../../protocol/error.ts";
import type { ModelShape } from "../../protocol/trainConfig.ts";
import constants from "../constants.json" with { type: "json" };

/** Default maximum for pretrained models, whose context may be 100 times as long. */
const DEFAULT_MAX_TOKENS = constants.defaultMaxLength;

/**
 * The maximum row length of a training run, in tokens.
 * @param maxLength the option; undefined means the model's context, at most 1,024 if pretrained
 * @throws KitError `CONFIG_INVALID` if it exceeds the context
 */
export function rowLimit(
  maxLength: number | undefined,
  context: number,
  isPretrained = false,
): number {
  if (maxLength === undefined)
    return isPretrained ? Math.min(context, DEFAULT_MAX_TOKENS) : context;
  if (maxLength <= context) return maxLength;
  throw new KitError(
    "CONFIG_INVALID",
    `"maxLength" must be at most the model's context of ${context} tokens, but is ${maxLength}.`,
  );
}

/** A smaller share of skipped rows needs no advice: they are outliers. */
const MIN_SKIPPED_SHARE = 0.1;
/** Maximum context to advise: longer rows take too much time and memory. */
const MAX_CONTEXT = 16_384;

export interface SkippedRows {
  /** Rows trained on, and rows skipped because the prompt leaves no room for an answer. */
  rows: number;
  leftOut: number;
  /** Tokens of the longest skipped row. */
  needed: number;
  /** Effective maxLength, if below the context. */
  maxLength: number | undefined;
  /** The model's context length, in tokens. */
  context: number;
  /** Set for a model trained from scratch, whose context can be changed. */
  shape?: ModelShape;
}

/** Options that would keep every row; undefined if only few are skipped. */
export function skippedRowsAdvice(skipped: SkippedRows): string | undefined {
  const { rows, leftOut, needed, maxLength, context, shape } = skipped;
  if (leftOut <= MIN_SKIPPED_SHARE * (rows + leftOut)) return undefined;
  const option = maxLength === undefined ? "" : `maxLength: ${needed}`;
  if (needed <= context) return option;
  if (needed > MAX_CONTEXT) return `shorten the longest, which has ${needed} tokens`;
  const model = shape
    ? `model: { ${["layers", "heads", "width"].map((key) => `${key}: ${shape[key as keyof ModelShape]}`).join(", ")}, context: ${needed} }`
    : `a model with a context of ${needed} tokens`;
  return option ? `${model}, ${option}` : model;
}
