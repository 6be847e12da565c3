import { type RequestFault, KitError, isKitError } from "../../protocol/error.ts";

/** Adds the faulty option to an invalid request's error that names none. @param prefix prepended to its message */
export function withFault(error: unknown, fault: RequestFault | undefined, prefix = ""): unknown {
  if (!isKitError(error) || error.code !== "REQUEST_INVALID" || error.fault || !fault) return error;
  return new KitError(error.code, prefix + error.message, { cause: error, fault });
}
