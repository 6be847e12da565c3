import { formatCounted } from "../../protocol/format.ts";
import { saysLearned } from "../../protocol/learnedMarks.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";

/** Beside those of the row's form. */
const ROW_KEYS = ["tools", "chat_template_kwargs", "functions", "parallel_tool_calls"];
const MESSAGE_KEYS = [
  ...[
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
    "weight",
  ],
  ...["reasoning_content", "reasoning", "thinking"],
];
/** A dataset whose keys are data has no end of them. */
const MOST_NAMED_KEYS = 8;

type Owner = "row" | "message";

/** Counts the keys that Kit doesn't read, for one note on a dataset. */
export interface IgnoredKeys {
  /** Adds those of a row, which has the keys of its form. */
  add: (row: Record<string, unknown>, form: readonly string[]) => void;
  /**
   * Adds those of a record that none of its row is made of.
   * @param lost those that may belong to its question
   */
  leave: (
    record: Record<string, unknown>,
    read: readonly string[],
    lost: readonly string[],
  ) => void;
  /** Lines for people. */
  notes: (dataset: string) => string[];
}

/** @param advice how to learn from what may belong to a question */
export function createIgnoredKeys(advice = "set map"): IgnoredKeys {
  const counts = new Map<string, { key: string; owner: Owner; count: number }>();
  const lostCounts = new Map<string, number>();
  let hasMore = false;

  function addKeys(value: object, known: readonly string[], owner: Owner): void {
    for (const [key, one] of Object.entries(value) as [string, unknown][]) {
      if (isNothing(one) || known.includes(key)) continue;
      if (owner === "row" && lostCounts.has(key)) continue;
      if (owner === "message" && isHeededMark(value, key, one)) continue;
      const id = `${owner} ${key}`;
      const found = counts.get(id);
      if (found) found.count++;
      else if (counts.size < MOST_NAMED_KEYS) counts.set(id, { key, owner, count: 1 });
      else hasMore = true;
    }
  }

  return {
    add(row, form) {
      addKeys(row, [...form, ...ROW_KEYS], "row");
      const conversations = form.filter((key) => !isSystemKey(key)).map((key) => row[key]);
      for (const messages of conversations.filter(Array.isArray)) {
        for (const message of messages as object[]) addKeys(message, MESSAGE_KEYS, "message");
      }
    },
    leave(record, read, lost) {
      for (const key of lost) {
        if (!isNothing(record[key])) lostCounts.set(key, (lostCounts.get(key) ?? 0) + 1);
      }
      addKeys(record, [...read, ...lost], "row");
    },
    notes(dataset) {
      const warnings = [...lostCounts].map(
        ([key, count]) =>
          `warning: ${JSON.stringify(key)} of ${formatCounted(count, "row")} of ${dataset} is left out, although it may belong to the question: ${advice} to learn from it`,
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

/** Libraries write an optional key without a value as null, tables as an empty cell. */
function isNothing(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    (typeof value === "string" && value.trim() === "") ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** What is not an answer is never learned, whatever its marks say. */
function isHeededMark(message: { role?: unknown }, key: string, value: unknown): boolean {
  const isLearned = saysLearned(key, value);
  return isLearned === false || (isLearned === true && message.role === "assistant");
}

function isSystemKey(key: string): boolean {
  return (SYSTEM_KEYS as readonly string[]).includes(key);
}
