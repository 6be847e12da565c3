import { KitError } from "../../../protocol/error.ts";

/** A record of a table, by the names of its columns. */
export interface TableRow {
  value: Record<string, unknown>;
  /** For errors: file and line, or file and row. */
  where: string;
  /** Columns that were not read, with placeholders for their values. */
  unread?: Record<string, unknown>;
}

/** The first duplicate name. */
export function duplicateIn(names: string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** An error in a dataset's content; its message begins with `where`. */
export function invalid(where: string, problem: string, cause?: unknown): KitError {
  return new KitError("DATASET_INVALID", `${where}: ${problem}`, { cause });
}
