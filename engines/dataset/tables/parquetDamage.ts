import { type KitError, isKitError, messageOf } from "../../../protocol/error.ts";
import { invalid } from "./tableRow.ts";

/** @throws KitError `DATASET_INVALID` for whatever the library throws */
export async function sound<T>(path: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (isKitError(cause)) throw cause;
    throw damaged(path, cause);
  }
}

export function damaged(path: string, cause: unknown): KitError {
  // What the library trips over says nothing to people.
  const isSlip = cause instanceof TypeError || cause instanceof RangeError;
  const why = isSlip ? "its content contradicts itself" : messageOf(cause);
  return invalid(path, `damaged, or not Parquet (${why}). Save it again.`, cause);
}
