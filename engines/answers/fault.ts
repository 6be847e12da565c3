import { type RequestFault, KitError, isKitError } from "../../protocol/error.ts";

/**
 * An error of a request that does not know yet what it is about.
 * @param place what its sentence begins with. Default: nothing.
 */
export function atFault(error: unknown, fault: RequestFault | undefined, place = ""): unknown {
  if (!isKitError(error) || error.code !== "REQUEST_INVALID" || error.fault || !fault) return error;
  return new KitError(error.code, place + error.message, { cause: error, fault });
}
