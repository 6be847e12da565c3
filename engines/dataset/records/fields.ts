/** The fields of Kit's own formats. */
export const FIELDS = [
  "messages",
  "tools",
  "prompt",
  "completion",
  "text",
  "chosen",
  "rejected",
  "label",
] as const;

export type Field = (typeof FIELDS)[number];

/** The column of each field. */
export type Columns = Partial<Record<Field, string>>;

/** The fields of one kind of row. */
export interface RowColumns {
  /** The fields of each of Kit's own formats; the first with all its columns present wins. */
  formats: readonly (readonly Field[])[];
  /** Fields beside the question, whatever its format. */
  answer: readonly Field[];
  /** Kit's own format, used only if no other fields hold a question. */
  fallback?: readonly Field[];
}

/** The fields of demonstrations and plain texts. */
export const DEMONSTRATION_COLUMNS: RowColumns = {
  formats: [["messages"], ["prompt", "completion"]],
  answer: ["completion"],
  fallback: ["text"],
};

/** How records with the same columns become rows. */
export interface RecordFormat {
  /** Columns read. */
  reads: readonly string[];
  /** Columns not read that may belong to the question. */
  drops: readonly string[];
  /** Describes the mapping: `question → prompt`. Undefined for Kit's own names. */
  summary?: string;
  /** The question's column, which identifies the format. */
  source?: string;
  /**
   * A row in one of Kit's own formats, for `parse` to check.
   * @throws KitError `DATASET_INVALID`, its message beginning with `where`
   */
  rowOf(record: Record<string, unknown>, where: string): Record<string, unknown>;
}

/** Columns of Alpaca and Dolly that follow the question, and the one with earlier turns. */
export const CONTEXTS = ["input", "context"];
export const HISTORY = "history";

export function columnEntries(columns: Columns): [field: Field, column: string][] {
  return FIELDS.flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [[field, column] as [Field, string]];
  });
}

export function columnNoun({ length }: readonly string[]): string {
  return length === 1 ? "column" : "columns";
}
