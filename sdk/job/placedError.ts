import { KitError, isKitError } from "../../protocol/error.ts";

/** An engine's error, with the rows' own places in its sentence. */
export function placedError(error: unknown, inPlaces: (text: string) => string): unknown {
  if (!isKitError(error)) return error;
  const message = inPlaces(error.message);
  return message === error.message ? error : new KitError(error.code, message, { cause: error });
}
