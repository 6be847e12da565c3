import type { Message } from "../../protocol/chat.ts";
import { formatCount, formatCounted } from "../../protocol/format.ts";
import { type Part, adviceOn, nameOf, partsOf } from "../tokens/droppedParts.ts";
import { endsWithStopToken } from "../tokens/stopTokens.ts";
import type { Span, Tokenizer } from "../tokens/tokenizer.ts";

/** How many of an answer's last tokens a note shows. */
const SHOWN_TOKENS = 12;

/** Kinds of problems: special tokens in a row, parts that the chat template drops, and answers without an end token. */
type Kind = "rendered" | "own" | "foreign" | Part | "unended";

/** Order of notes; dropped parts keep their order of occurrence. */
const RANKS: Partial<Record<Kind, number>> = { rendered: 0, own: 1, foreign: 2, unended: 4 };
const PART_RANK = 3;

interface Problem {
  rows: number;
  /** File and line of the first row. */
  first: string;
  /** The special token, or the end of the answer, in that row. */
  shown: string;
}

/** Collects problems of a dataset's rows to warn about. */
export function createRowNotes(tokenizer: Tokenizer) {
  const { markup, hasTemplate, isDropped } = tokenizer;
  let rows = 0;
  const problems = new Map<Kind, Problem>();

  function addProblem(kind: Kind, first: string, shown: string): void {
    const problem = problems.get(kind) ?? { rows: 0, first, shown };
    problems.set(kind, { ...problem, rows: problem.rows + 1 });
  }

  /** Finds special tokens in a row, such as those of an already rendered chat template. */
  function checkMarkup(row: object, where: string): void {
    const texts = textsOf(row);
    const foreign = texts.map(({ content }) => markup.foreignTokenIn(content)).find(Boolean);
    if (foreign !== undefined) addProblem("foreign", where, foreign);
    const prompt = promptOf(row);
    if (prompt !== undefined && markup.isRendered(prompt)) return addProblem("rendered", where, "");
    if ("text" in row || !hasTemplate) return;
    // An answer may include its end token.
    const own = texts
      .map(({ content, isAnswer }) => {
        const token = markup.ownTokenIn(content);
        const isEnd = token !== undefined && isAnswer && content.trimEnd().endsWith(token);
        return isEnd ? undefined : token;
      })
      .find(Boolean);
    if (own !== undefined) addProblem("own", where, own);
  }

  /** Finds parts that the chat template drops. */
  function checkDropped(row: object, where: string): void {
    const parts = messagesOf(row).flatMap((messages) => messages.flatMap(partsOf));
    for (const part of new Set(parts)) if (isDropped(part)) addProblem(part, where, "");
  }

  /** Finds answers that don't teach the model to stop. */
  function checkUnended(sequences: readonly (readonly Span[])[], where: string): void {
    const unended = sequences
      .flatMap(lastSpans)
      .find(({ tokens, isLearned }) => isLearned && !endsWithStopToken(tokens, tokenizer));
    if (!unended) return;
    const shown = () => tokenizer.show([...unended.tokens.subarray(-SHOWN_TOKENS)]);
    addProblem("unended", where, problems.has("unended") ? "" : shown());
  }

  function noteOn(kind: Kind, { rows: affected, first, shown }: Problem): string {
    const share = `${formatCount(affected)} of ${formatCounted(rows, "row")}`;
    const firstLine = `\n  the first is ${first}`;
    switch (kind) {
      case "rendered":
        return `the prompts of ${share} are already rendered by a chat template: they are read as they are, without the model's own${firstLine}`;
      case "own":
        return `warning: ${share} have a special token of the model inside a message, although the chat template adds these itself\n  the first is ${shown} in ${first}\n  remove it, or write what it separates as "messages"; a rendered prompt is read as it is if it begins as the template does`;
      case "foreign":
        return `warning: ${share} have a special token of another model's chat template, which this model reads as plain text\n  the first is ${shown} in ${first}\n  write the rows as "messages", which the model's own template renders`;
      case "unended": {
        const [end] = tokenizer.stopTokens;
        const advice =
          end === undefined
            ? "set eos_token to the token that ends an answer in the model's tokenizer_config.json"
            : `let the model's chat template write ${tokenizer.show([end])} after an assistant's message`;
        return `warning: the answers of ${share} have no token that ends them, so the model may not learn to stop${firstLine}, which ends with ${JSON.stringify(shown)}\n  ${advice}`;
      }
      default:
        return `warning: the model's chat template leaves out ${nameOf(kind)} in ${share}${firstLine}\n  ${adviceOn(kind, isDropped)}`;
    }
  }

  return {
    /** @param sequences the row's sequences that are not truncated */
    add(row: object, sequences: readonly (readonly Span[])[], where: string): void {
      rows++;
      checkMarkup(row, where);
      checkDropped(row, where);
      checkUnended(sequences, where);
    },
    notes: (): string[] =>
      [...problems]
        .sort(([a], [b]) => (RANKS[a] ?? PART_RANK) - (RANKS[b] ?? PART_RANK))
        .map(([kind, problem]) => noteOn(kind, problem)),
  };
}

interface Text {
  content: string;
  isAnswer: boolean;
}

function textsOf(row: object): Text[] {
  const plain = Object.entries(row).flatMap(([key, value]: [string, unknown]) =>
    typeof value === "string" ? [{ content: value, isAnswer: ANSWER_FIELDS.includes(key) }] : [],
  );
  const messages = messagesOf(row).flat();
  return [
    ...plain,
    ...messages.map(({ role, content = "" }) => ({ content, isAnswer: role === "assistant" })),
  ];
}

/** A row's conversations, whatever its format. */
function messagesOf(row: object): Message[][] {
  return Object.entries(row).flatMap(([key, value]: [string, unknown]) =>
    key !== "tools" && Array.isArray(value) ? [value as Message[]] : [],
  );
}

const ANSWER_FIELDS = ["completion", "chosen", "rejected"];

/** A row's prompt, if it is a single user message. */
function promptOf(row: object): string | undefined {
  if (!("prompt" in row) || "tools" in row) return undefined;
  if (typeof row.prompt === "string") return row.prompt;
  const [first, ...others] = row.prompt as Message[];
  return others.length === 0 && first?.role === "user" ? first.content : undefined;
}

/** The last span of each run of spans that are all learned, or all not. */
function lastSpans(spans: readonly Span[]): Span[] {
  return spans.filter(({ isLearned }, i) => spans[i + 1]?.isLearned !== isLearned);
}
