import type { Message } from "../../protocol/chat.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { type Part, adviceOn, nameOf, partsOf } from "../tokens/unwritten.ts";

/** Counts the rows of which a chat template leaves a part out, as if it were not there. */
export function watchUnwritten({ isUnwritten }: Tokenizer) {
  let rows = 0;
  const found = new Map<Part, { rows: number; first: string }>();

  return {
    /** @param row of any form */
    see(row: object, where: string): void {
      rows++;
      const lists = Object.entries(row).flatMap(([key, value]: [string, unknown]) =>
        key !== "tools" && Array.isArray(value) ? [value as Message[]] : [],
      );
      for (const part of new Set(lists.flatMap((messages) => messages.flatMap(partsOf)))) {
        if (!isUnwritten(part)) continue;
        const before = found.get(part);
        if (before) before.rows++;
        else found.set(part, { rows: 1, first: where });
      }
    },
    notes: () =>
      [...found].map(([part, { rows: some, first }]) => {
        const of = `${formatCount(some)} of ${formatCounted(rows, "row")}`;
        return `warning: the model's chat template leaves out ${nameOf(part)} of ${of}\n  the first is ${first}\n  ${adviceOn(part, isUnwritten)}`;
      }),
  };
}
