import { isDeepStrictEqual } from "node:util";
import { type Message, type TemplateInput, asTools } from "../../protocol/chat.ts";
import { problemOfTools } from "../../protocol/chatFaults.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import { isWholeConversation, sharedPrefixLength, splitAfterQuestion } from "./question.ts";
import { withKwargs } from "./rowFormat.ts";
import {
  type RowObject,
  OTHER_NAMES_HINT,
  answerIn,
  answerMessagesIn,
  lastAnswer,
  messagesIn,
  parseRowObject,
  questionIn,
  withSystemOf,
  answerTexts,
} from "./rowObject.ts";

/** A question with a chosen and a rejected answer, whatever the line's format. */
export interface Pair extends TemplateInput {
  prompt: Message[];
  chosen: Message[];
  rejected: Message[];
}

const EXPECTED_PAIR =
  '{"prompt":"…","chosen":"…","rejected":"…"}, or {"input":{"messages":[…]},"preferred_output":[…],"non_preferred_output":[…]}';

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
function parsePair(value: unknown, where: string, ignored?: IgnoredKeys): Pair {
  const object = parseRowObject(value, where, EXPECTED_PAIR);
  const { row, fail } = object;
  const { tools, keys, ...pair } = readPair(object);
  if (isDeepStrictEqual(pair.chosen, pair.rejected)) {
    return fail('"chosen" and "rejected" are the same answer');
  }
  ignored?.add(row, keys);
  return { ...pair, ...(tools && { tools }) };
}

/** A pair, and the row's keys that it was made from. */
interface ParsedPair extends Pair {
  keys: readonly string[];
}

function readPair(object: RowObject): ParsedPair {
  if ("preferred_output" in object.row) return openAiPair(object);
  return "rejected_response" in object.row ? swiftPair(object) : trlPair(object);
}

/** ms-swift's format: a conversation, and a rejected alternative to its last answer. */
function swiftPair(object: RowObject): ParsedPair {
  const { row, tools } = object;
  const { prompt, completion } = lastAnswer(object);
  return {
    prompt: withSystemOf(object, questionIn(object, "messages", prompt)),
    chosen: answerIn(object, "messages", completion),
    rejected: answerIn(object, "rejected_response", row["rejected_response"]),
    ...(tools && { tools }),
    keys: ["messages", "rejected_response", ...SYSTEM_KEYS],
  };
}

function trlPair(object: RowObject): ParsedPair {
  const { row, tools, fail } = object;
  const { chosen, rejected } = row;
  if (chosen === undefined && rejected === undefined) return fail(otherFormatProblem(row));
  if (chosen === undefined) return fail('a "rejected" answer without a "chosen" one');
  if (rejected === undefined) return fail('a "chosen" answer without a "rejected" one');
  const { isPromptUnused = false, ...parts } = partsOf(object);
  return {
    prompt: withSystemOf(object, questionIn(object, "prompt", parts.prompt)),
    chosen: answerIn(object, "chosen", parts.chosen),
    rejected: answerIn(object, "rejected", parts.rejected),
    ...(tools && { tools }),
    keys: ["chosen", "rejected", ...SYSTEM_KEYS, ...(isPromptUnused ? [] : ["prompt"])],
  };
}

interface Parts extends Record<"prompt" | "chosen" | "rejected", unknown> {
  /** Whether the row's prompt is ignored, since the conversations don't contain it. */
  isPromptUnused?: boolean;
}

/** Removes the question from answers that are whole conversations. */
function partsOf(object: RowObject): Parts {
  const { prompt, chosen, rejected } = object.row;
  if (prompt === undefined) return conversations(object);
  const question = questionIn(object, "prompt", prompt);
  const answers = { chosen, rejected };
  const whole = Object.entries(answers).flatMap(([name, value]) => {
    const messages = answerMessagesIn(object, name, value);
    return isWholeConversation(messages)
      ? [{ name, found: splitAfterQuestion(question, messages) }]
      : [];
  });
  const [first, second] = whole;
  const isText = typeof prompt === "string";
  if (first && second) {
    // As TRL's `maybe_extract_prompt`, which then ignores a text prompt.
    if (isText) return { ...conversations(object), isPromptUnused: !first.found };
    if (!first.found || !isDeepStrictEqual(first.found.question, second.found?.question)) {
      return { prompt, ...answers };
    }
    const parts = conversations(object);
    const system = question.filter((message) => message === first.found?.question[0]);
    return { ...parts, prompt: [...system, ...parts.prompt] };
  }
  if (first?.found?.question.length === question.length) {
    return { prompt, ...answers, [first.name]: first.found.answer };
  }
  if (!first || !isText) return { prompt, ...answers };
  return object.fail('one of "chosen" and "rejected" is a whole conversation, the other an answer');
}

/** Two whole conversations, as in some datasets for TRL: the question is their common prefix. */
function conversations(object: RowObject): Omit<Pair, "tools"> {
  const { row, fail } = object;
  if (!Array.isArray(row.chosen)) return fail('"chosen" and "rejected" without a "prompt"');
  const chosen = messagesIn(object, "chosen", row.chosen);
  const rejected = messagesIn(object, "rejected", row.rejected);
  const shared = sharedPrefixLength(chosen, rejected);
  if (shared === 0) return fail('"chosen" and "rejected" start with different questions');
  if (shared === chosen.length && shared === rejected.length) {
    return fail('"chosen" and "rejected" are the same answer');
  }
  if (shared === chosen.length) return fail('"rejected" starts with all of "chosen"');
  if (shared === rejected.length) return fail('"chosen" starts with all of "rejected"');
  return {
    prompt: chosen.slice(0, shared),
    chosen: chosen.slice(shared),
    rejected: rejected.slice(shared),
  };
}

function openAiPair(object: RowObject): ParsedPair {
  const { input, preferred_output: chosen, non_preferred_output: rejected } = object.row;
  if (!isRecord(input)) return object.fail('"input" is not {"messages":[…]}');
  const problem = problemOfTools(input);
  if (problem !== undefined) return object.fail(`in "input", ${problem}`);
  const tools = asTools(input["tools"]);
  return {
    prompt: questionIn(object, "input.messages", input["messages"]),
    chosen: answerIn(object, "preferred_output", chosen),
    rejected: answerIn(object, "non_preferred_output", rejected),
    ...(tools && { tools }),
    keys: ["input", "preferred_output", "non_preferred_output"],
  };
}

function otherFormatProblem(row: Record<string, unknown>): string {
  if ("label" in row) return 'a "label" is for the objective "kto", not "dpo"';
  if ("messages" in row || "completion" in row || "text" in row) {
    return 'a single answer, but the objective "dpo" needs two';
  }
  return `no "chosen" and "rejected"${OTHER_NAMES_HINT}`;
}

export const PAIR_FORMAT = withKwargs<Pair>({
  expected: EXPECTED_PAIR,
  parse: parsePair,
  columns: {
    formats: [["prompt", "chosen", "rejected"]],
    answer: ["chosen", "rejected"],
    fallback: ["chosen", "rejected"],
  },
  answersOf: ({ chosen }) => answerTexts(chosen),
  rightAnswerOf: ({ prompt, chosen, tools }) => ({
    messages: [...prompt, ...chosen],
    ...(tools && { tools }),
  }),
  isText: () => false,
});
