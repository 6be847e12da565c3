import { KitError } from "../../../protocol/error.ts";

/** A record of a table, by the names of its columns. */
export interface TableRow {
  value: Record<string, unknown>;
  /** For error messages: file and line, or file and row. */
  where: string;
}

/** An error of a table's content, which begins with where it is. */
export function invalid(where: string, problem: string, cause?: unknown): KitError {
  return new KitError("DATASET_INVALID", `${where}: ${problem}`, { cause });
}
