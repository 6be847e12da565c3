import { KitError, isKitError, messageOf } from "../../../protocol/error.ts";
import { bareCharacterOf } from "./characters.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { patternOf } from "./pattern.ts";

/**
 * The texts that match a regular expression as a whole.
 * @throws KitError `REQUEST_INVALID` for one that no automaton can follow
 */
export function textPattern(of: Expressions, source: string): Expression {
  of.spend(source.length >>> 2);
  try {
    return patternOf(of, source, bareCharacterOf);
  } catch (error) {
    if (isKitError(error)) throw error;
    throw new KitError(
      "REQUEST_INVALID",
      `No answer can be held to the regular expression ${JSON.stringify(source.slice(0, 60))} (${messageOf(error)}). Write it without that.`,
    );
  }
}
