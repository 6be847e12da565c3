import { formatCounted } from "../../protocol/format.ts";
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
    for (const [key, one] of Object.entries(value)) {
      // Libraries write an optional key without a value as null.
      if (one === null || known.includes(key)) continue;
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
      for (const messages of form.map((key) => row[key]).filter(Array.isArray)) {
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
