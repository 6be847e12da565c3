/** What a row of Kit has, in whichever form. */
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

/** The column that each part of a row is in. */
export type Columns = Partial<Record<Field, string>>;

/** How a kind of rows is written. */
export interface RowColumns {
  /** The parts of each of Kit's own forms; the first whose columns are all there is taken. */
  own: readonly (readonly Field[])[];
  /** What stands beside a question, in whichever form that is. */
  answer: readonly Field[];
  /** Kit's own form, used only if no other fields hold a question. */
  last?: readonly Field[];
}

/** Right answers. Texts are read, too. */
export const ANSWERS: RowColumns = {
  own: [["messages"], ["prompt", "completion"]],
  answer: ["completion"],
  last: ["text"],
};

/** How records with the same columns become rows. */
export interface RecordForm {
  /** The columns that it reads. */
  reads: readonly string[];
  /** Those that it leaves out, although they may belong to its question. */
  loses: readonly string[];
  /** How columns become a row, for people: `question → prompt`. Undefined for Kit's own names. */
  told?: string;
  /** The column of the question, which names the form. */
  source?: string;
  /**
   * A row in one of Kit's own forms, which `parse` checks.
   * @throws KitError `DATASET_INVALID`, its message beginning with `where`
   */
  rowOf(record: Record<string, unknown>, where: string): Record<string, unknown>;
}

/** What follows a question in Alpaca's and Dolly's columns, and the turns before it. */
export const CONTEXTS = ["input", "context"];
export const HISTORY = "history";

export function named(columns: Columns): [field: Field, column: string][] {
  return FIELDS.flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [[field, column] as [Field, string]];
  });
}

export function counted({ length }: readonly string[]): string {
  return length === 1 ? "column" : "columns";
}
