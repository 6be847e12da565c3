import { KitError } from "../../../protocol/error.ts";

/** A record of a table, by the names of its columns. */
export interface TableRow {
  value: Record<string, unknown>;
  /** For error messages: file and line, or file and row. */
  where: string;
  /** Columns that were not read, with something in place of their values. */
  unread?: Record<string, unknown>;
}

/** A name that two columns have. */
export function duplicateIn(names: string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** An error of a table's content, which begins with where it is. */
export function invalid(where: string, problem: string, cause?: unknown): KitError {
  return new KitError("DATASET_INVALID", `${where}: ${problem}`, { cause });
}
