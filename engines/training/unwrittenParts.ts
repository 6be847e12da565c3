import type { Message } from "../../protocol/chat.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { type Part, REASONING, partsOf } from "../tokens/unwritten.ts";

/** Counts the rows of which a chat template leaves a part out, as if it were not there. */
export function watchUnwritten({ isUnwritten }: Tokenizer) {
  let rows = 0;
  const found = new Map<Part, { rows: number; first: string }>();

  function adviceOn(part: Part): string {
    if (part === "tool") return "use a model whose template takes tools, or a user's message";
    if (part === "later system") return "write all of it in the first message";
    if (part === "system") return "write it in the first user's message";
    const read = REASONING.find((key) => !isUnwritten(key));
    if (read !== undefined) return `call it ${JSON.stringify(read)}, which it writes`;
    return `write it in "content" to learn it, or leave it out`;
  }

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
        return `warning: the model's chat template leaves out ${NAMES[part] ?? JSON.stringify(part)} of ${of}\n  the first is ${first}\n  ${adviceOn(part)}`;
      }),
  };
}

const NAMES: Partial<Record<Part, string>> = {
  system: "the system message",
  "later system": "the system message after the first message",
  tool: "what tools return",
};
