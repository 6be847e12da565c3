import { formatCounted } from "../../protocol/format.ts";
import { saysLearned } from "../../protocol/learnedMarks.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";

/** Keys known in rows of every format. */
const ROW_KEYS = ["tools", "chat_template_kwargs", "functions", "parallel_tool_calls"];
const MESSAGE_KEYS = [
  "role",
  "content",
  "name",
  "tool_calls",
  "tool_call_id",
  "function_call",
  "refusal",
  "weight",
  "reasoning_content",
  "reasoning",
  "thinking",
];
/** Maximum keys in a note: some datasets use data as keys. */
const MAX_NAMED_KEYS = 8;

type Owner = "row" | "message";

/** Counts keys that Kit doesn't read, for one note per dataset. */
export interface IgnoredKeys {
  /** Adds a row's unknown keys. @param known the keys of its format */
  add: (row: Record<string, unknown>, known: readonly string[]) => void;
  /**
   * Adds a record's keys that its row doesn't use.
   * @param read keys that the row uses
   * @param lost unused keys that may belong to the question, which gives a warning
   */
  addUnused: (
    record: Record<string, unknown>,
    read: readonly string[],
    lost: readonly string[],
  ) => void;
  /** Notes and warnings about the ignored keys. */
  notes: (dataset: string) => string[];
}

/** @param options `advice` completes "… to learn from it" in the warning about lost keys */
export function createIgnoredKeys({
  advice = "set map",
}: { advice?: string | undefined } = {}): IgnoredKeys {
  const counts = new Map<string, { key: string; owner: Owner; count: number }>();
  const lostCounts = new Map<string, number>();
  let hasMore = false;

  function addKeys(value: object, known: readonly string[], owner: Owner): void {
    for (const [key, member] of Object.entries(value) as [string, unknown][]) {
      if (isEmpty(member) || known.includes(key)) continue;
      if (owner === "row" && lostCounts.has(key)) continue;
      if (owner === "message" && isUsedMark(value, key, member)) continue;
      const id = `${owner} ${key}`;
      const found = counts.get(id);
      if (found) found.count++;
      else if (counts.size < MAX_NAMED_KEYS) counts.set(id, { key, owner, count: 1 });
      else hasMore = true;
    }
  }

  return {
    add(row, known) {
      addKeys(row, [...known, ...ROW_KEYS], "row");
      const conversations = known.filter((key) => !isSystemKey(key)).map((key) => row[key]);
      for (const messages of conversations.filter(Array.isArray)) {
        for (const message of messages as object[]) addKeys(message, MESSAGE_KEYS, "message");
      }
    },
    addUnused(record, read, lost) {
      for (const key of lost) {
        if (!isEmpty(record[key])) lostCounts.set(key, (lostCounts.get(key) ?? 0) + 1);
      }
      addKeys(record, [...read, ...lost], "row");
    },
    notes(dataset) {
      const warnings = [...lostCounts].map(
        ([key, count]) =>
          `warning: ${JSON.stringify(key)} of ${formatCounted(count, "row")} of ${dataset} is ignored, but may belong to the question: ${advice} to learn from it`,
      );
      if (counts.size === 0) return warnings;
      const named = [...counts.values()].map(
        ({ key, owner, count }) => `${JSON.stringify(key)} of ${formatCounted(count, owner)}`,
      );
      const more = hasMore ? ", and others" : "";
      return [...warnings, `ignoring keys in ${dataset}: ${named.join(", ")}${more}`];
    },
  };
}

/** Libraries write a missing value as null, tables as an empty cell. */
function isEmpty(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    (typeof value === "string" && value.trim() === "") ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Whether Kit does what a message's mark says. Only answers are learned, whatever marks of other messages say. */
function isUsedMark(message: { role?: unknown }, key: string, value: unknown): boolean {
  const isLearned = saysLearned(key, value);
  return isLearned === false || (isLearned === true && message.role === "assistant");
}

function isSystemKey(key: string): boolean {
  return (SYSTEM_KEYS as readonly string[]).includes(key);
}
