import { KitError } from "../../protocol/error.ts";

/**
 * The longest row that a training accepts, in tokens.
 * @param maxLength as asked for; null means the model's context
 * @throws KitError `CONFIG_INVALID` when it exceeds the context
 */
export function rowLimit(maxLength: number | undefined, context: number): number {
  if (maxLength === undefined) return context;
  if (maxLength <= context) return maxLength;
  throw new KitError(
    "CONFIG_INVALID",
    `"maxLength" must be at most the model's context of ${context} tokens, but is ${maxLength}.`,
  );
}
