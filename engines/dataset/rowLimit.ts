import { KitError } from "../../protocol/error.ts";
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
