import { KitError, messageOf } from "./error.ts";

/** @param doing the attempt that failed, such as `write <path>` */
export function unwritable(doing: string, cause: unknown): string {
  return `Cannot ${doing}: ${messageOf(cause)}. Make the folder writable, or free disk space.`;
}

/** @param doing the attempt that failed, such as `write <path>` */
export function cannotWrite(doing: string, cause: unknown): KitError {
  return new KitError("CANNOT_WRITE", unwritable(doing, cause), { cause });
}
