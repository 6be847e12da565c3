import { formatCounted } from "../../protocol/format.ts";
import { saysLearned } from "../../protocol/learnedMarks.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };

/** `rowKeys` are beside those of the row's form. A dataset whose keys are data has no end of them. */
const { rowKeys, messageKeys, mostNamedKeys } = constants;

type Owner = "row" | "message";

/** Counts the keys that Kit doesn't read, for one note on a dataset. */
export interface IgnoredKeys {
  /** Adds those of a row, which has the keys of its form. */
  add: (row: Record<string, unknown>, form: readonly string[]) => void;
  /** Undefined without any. */
  note: (dataset: string) => string | undefined;
}

export function createIgnoredKeys(): IgnoredKeys {
  const counts = new Map<string, { key: string; owner: Owner; count: number }>();
  let hasMore = false;

  function addKeys(value: object, known: readonly string[], owner: Owner): void {
    for (const [key, one] of Object.entries(value) as [string, unknown][]) {
      // Libraries write an optional key without a value as null.
      if (one === null || known.includes(key)) continue;
      if (owner === "message" && isHeededMark(value, key, one)) continue;
      const id = `${owner} ${key}`;
      const found = counts.get(id);
      if (found) found.count++;
      else if (counts.size < mostNamedKeys) counts.set(id, { key, owner, count: 1 });
      else hasMore = true;
    }
  }

  return {
    add(row, form) {
      addKeys(row, [...form, ...rowKeys], "row");
      const conversations = form.filter((key) => !isSystemKey(key)).map((key) => row[key]);
      for (const messages of conversations.filter(Array.isArray)) {
        for (const message of messages as object[]) addKeys(message, messageKeys, "message");
      }
    },
    note(dataset) {
      if (counts.size === 0) return undefined;
      const named = [...counts.values()].map(
        ({ key, owner, count }) => `${JSON.stringify(key)} of ${formatCounted(count, owner)}`,
      );
      return `ignoring keys in ${dataset}: ${named.join(", ")}${hasMore ? ", and others" : ""}`;
    },
  };
}

/** What is not an answer is never learned, whatever its marks say. */
function isHeededMark(message: { role?: unknown }, key: string, value: unknown): boolean {
  const isLearned = saysLearned(key, value);
  return isLearned === false || (isLearned === true && message.role === "assistant");
}

function isSystemKey(key: string): boolean {
  return (SYSTEM_KEYS as readonly string[]).includes(key);
}
