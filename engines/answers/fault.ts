import { type RequestFault, KitError, isKitError } from "../../protocol/error.ts";

/**
 * Adds the fault to a request's error that has none.
 * @param place prefix of its message
 */
export function withFault(error: unknown, fault: RequestFault | undefined, place = ""): unknown {
  if (!isKitError(error) || error.code !== "REQUEST_INVALID" || error.fault || !fault) return error;
  return new KitError(error.code, place + error.message, { cause: error, fault });
}
