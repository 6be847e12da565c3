import type { Message } from "../../protocol/chat.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

interface Found {
  rows: number;
  /** Where it is first, and the token. */
  first: string;
  token: string;
}

/** Watches for rows that a chat template has rendered before: the model's own, or another's. */
export function watchMarkup({ markup, hasTemplate }: Tokenizer) {
  let rows = 0;
  const found: Partial<Record<"rendered" | "own" | "foreign", Found>> = {};

  function count(kind: keyof typeof found, token: string | undefined, first: string): void {
    if (token === undefined) return;
    const before = (found[kind] ??= { rows: 0, first, token });
    before.rows++;
  }

  return {
    see(row: object, where: string): void {
      rows++;
      const texts = textsOf(row);
      const marked = texts.map(({ content }) => markup.foreignIn(content));
      count("foreign", marked.find(Boolean), where);
      const prompt = promptOf(row);
      if (prompt !== undefined && markup.isRendered(prompt)) {
        return count("rendered", markup.ownIn(prompt) ?? "", where);
      }
      if ("text" in row || !hasTemplate) return;
      // An answer may have its own end, where the template's would be.
      const inside = texts.map(({ content, isAnswer }) => {
        const own = markup.ownIn(content);
        return own !== undefined && !(isAnswer && content.trimEnd().endsWith(own))
          ? own
          : undefined;
      });
      count("own", inside.find(Boolean), where);
    },
    notes(): string[] {
      const of = ({ rows: some }: Found) => `${formatCount(some)} of ${formatCounted(rows, "row")}`;
      const { rendered, own, foreign } = found;
      return [
        ...(rendered
          ? [
              `the prompts of ${of(rendered)} were rendered by a chat template: they are read as they are, without the model's\n  the first is ${rendered.first}`,
            ]
          : []),
        ...(own
          ? [
              `warning: ${of(own)} have a special token of the model inside a message, around which the chat template writes its own\n  the first is ${own.token} of ${own.first}\n  remove it, or write what it separates as "messages"; a rendered prompt is read as it is if it begins as the template does`,
            ]
          : []),
        ...(foreign
          ? [
              `warning: ${of(foreign)} have a special token of another model's chat template, which this model learns letter by letter\n  the first is ${foreign.token} of ${foreign.first}\n  write the rows as "messages", which the model's own template renders`,
            ]
          : []),
      ];
    },
  };
}

interface Text {
  content: string;
  isAnswer: boolean;
}

/** The texts of a row of any form. */
function textsOf(row: object): Text[] {
  return Object.entries(row).flatMap(([key, value]: [string, unknown]) => {
    if (typeof value === "string") return [{ content: value, isAnswer: ANSWERS.includes(key) }];
    if (key === "tools" || !Array.isArray(value)) return [];
    return (value as Message[]).map(({ role, content = "" }) => ({
      ...{ content, isAnswer: role === "assistant" },
    }));
  });
}

const ANSWERS = ["completion", "chosen", "rejected"];

/** The prompt of a row that is a text, and is asked alone. */
function promptOf(row: object): string | undefined {
  if (!("prompt" in row) || "tools" in row) return undefined;
  if (typeof row.prompt === "string") return row.prompt;
  const [first, ...others] = row.prompt as Message[];
  return others.length === 0 && first?.role === "user" ? first.content : undefined;
}
