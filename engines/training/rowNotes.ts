import type { Message } from "../../protocol/chat.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import { type Part, adviceOn, nameOf, partsOf } from "../tokens/droppedParts.ts";
import { endsWithStopToken } from "../tokens/stopTokens.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

/** Number of an answer's last tokens to show. */
const SHOWN = 12;

/** Problems of rows: special tokens, parts that the chat template drops, and answers without an end token. */
type Kind = "rendered" | "own" | "foreign" | Part | "unended";

/** Order of notes; dropped parts keep their order of occurrence. */
const RANKS: Partial<Record<Kind, number>> = { rendered: 0, own: 1, foreign: 2, unended: 4 };
const PART_RANK = 3;

interface Found {
  rows: number;
  /** First location, and the token or the answer's end there. */
  first: string;
  shown: string;
}

/** Collects problems of a dataset's rows to warn about. */
export function createRowNotes(tokenizer: Tokenizer) {
  const { markup, hasTemplate, isDropped } = tokenizer;
  let rows = 0;
  const found = new Map<Kind, Found>();

  function count(kind: Kind, first: string, shown: string): void {
    const before = found.get(kind) ?? { rows: 0, first, shown };
    found.set(kind, { ...before, rows: before.rows + 1 });
  }

  /** Finds special tokens in rows, such as those of an already rendered chat template. */
  function checkMarkup(row: object, where: string): void {
    const texts = textsOf(row);
    const foreign = texts.map(({ content }) => markup.foreignTokenIn(content)).find(Boolean);
    if (foreign !== undefined) count("foreign", where, foreign);
    const prompt = promptOf(row);
    if (prompt !== undefined && markup.isRendered(prompt)) return count("rendered", where, "");
    if ("text" in row || !hasTemplate) return;
    // An answer may include its end token.
    const own = texts
      .map(({ content, isAnswer }) => {
        const token = markup.ownTokenIn(content);
        const isEnd = token !== undefined && isAnswer && content.trimEnd().endsWith(token);
        return isEnd ? undefined : token;
      })
      .find(Boolean);
    if (own !== undefined) count("own", where, own);
  }

  /** Finds parts that the chat template drops. */
  function checkDropped(row: object, where: string): void {
    const parts = messagesOf(row).flatMap((messages) => messages.flatMap(partsOf));
    for (const part of new Set(parts)) if (isDropped(part)) count(part, where, "");
  }

  /** Finds answers that don't teach the model to stop. */
  function checkUnended(sequences: readonly (readonly Span[])[], where: string): void {
    const unended = sequences
      .flatMap(lastsOfRuns)
      .find(({ tokens, isLearned }) => isLearned && !endsWithStopToken(tokens, tokenizer));
    if (!unended) return;
    const shown = () => tokenizer.show([...unended.tokens.subarray(-SHOWN)]);
    count("unended", where, found.has("unended") ? "" : shown());
  }

  function noteOn(kind: Kind, { rows: some, first, shown }: Found): string {
    const of = `${formatCount(some)} of ${formatCounted(rows, "row")}`;
    const firstly = `\n  the first is ${first}`;
    switch (kind) {
      case "rendered":
        return `the prompts of ${of} were rendered by a chat template: they are read as they are, without the model's${firstly}`;
      case "own":
        return `warning: ${of} have a special token of the model inside a message, around which the chat template writes its own\n  the first is ${shown} of ${first}\n  remove it, or write what it separates as "messages"; a rendered prompt is read as it is if it begins as the template does`;
      case "foreign":
        return `warning: ${of} have a special token of another model's chat template, which this model learns letter by letter\n  the first is ${shown} of ${first}\n  write the rows as "messages", which the model's own template renders`;
      case "unended": {
        const [end] = tokenizer.stopTokens;
        const advice =
          end === undefined
            ? "name the token that ends an answer as eos_token in the model's tokenizer_config.json"
            : `let the model's chat template write ${tokenizer.show([end])} after an assistant's message`;
        return `warning: no token that ends an answer is learned from ${of}, so the model may not stop${firstly}, which ends with ${JSON.stringify(shown)}\n  ${advice}`;
      }
      default:
        return `warning: the model's chat template leaves out ${nameOf(kind)} of ${of}${firstly}\n  ${adviceOn(kind, isDropped)}`;
    }
  }

  return {
    /** @param sequences those not truncated */
    add(row: object, sequences: readonly (readonly Span[])[], where: string): void {
      rows++;
      checkMarkup(row, where);
      checkDropped(row, where);
      checkUnended(sequences, where);
    },
    notes: (): string[] =>
      [...found]
        .sort(([a], [b]) => (RANKS[a] ?? PART_RANK) - (RANKS[b] ?? PART_RANK))
        .map(([kind, one]) => noteOn(kind, one)),
  };
}

interface Text {
  content: string;
  isAnswer: boolean;
}

function textsOf(row: object): Text[] {
  const plain = Object.entries(row).flatMap(([key, value]: [string, unknown]) =>
    typeof value === "string" ? [{ content: value, isAnswer: ANSWERS.includes(key) }] : [],
  );
  const said = messagesOf(row).flat();
  return [
    ...plain,
    ...said.map(({ role, content = "" }) => ({ content, isAnswer: role === "assistant" })),
  ];
}

/** The conversations of a row in any format. */
function messagesOf(row: object): Message[][] {
  return Object.entries(row).flatMap(([key, value]: [string, unknown]) =>
    key !== "tools" && Array.isArray(value) ? [value as Message[]] : [],
  );
}

const ANSWERS = ["completion", "chosen", "rejected"];

/** A row's prompt, if it is a single user message. */
function promptOf(row: object): string | undefined {
  if (!("prompt" in row) || "tools" in row) return undefined;
  if (typeof row.prompt === "string") return row.prompt;
  const [first, ...others] = row.prompt as Message[];
  return others.length === 0 && first?.role === "user" ? first.content : undefined;
}

/** The last span of each learned or unlearned run. */
function lastsOfRuns(spans: readonly Span[]): Span[] {
  return spans.filter(({ isLearned }, i) => spans[i + 1]?.isLearned !== isLearned);
}
