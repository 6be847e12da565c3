import { formatCounted } from "../../protocol/format.ts";

/** Beside those of the row's form. */
const ROW_KEYS = ["tools"];
const MESSAGE_KEYS = ["role", "content", "tool_calls", "weight"];
/** Datasets have few; one whose keys are data has no end of them. */
const MOST_NAMED = 8;

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
    for (const [key, one] of Object.entries(value)) {
      // Libraries write an optional key without a value as null.
      if (one === null || known.includes(key)) continue;
      const id = `${owner} ${key}`;
      const found = counts.get(id);
      if (found) found.count++;
      else if (counts.size < MOST_NAMED) counts.set(id, { key, owner, count: 1 });
      else hasMore = true;
    }
  }

  return {
    add(row, form) {
      addKeys(row, [...form, ...ROW_KEYS], "row");
      if (!form.includes("messages")) return;
      for (const message of row.messages as object[]) addKeys(message, MESSAGE_KEYS, "message");
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
