import { isDeepStrictEqual } from "node:util";
import { type Message, type TemplateInput, asTools } from "../../protocol/chat.ts";
import { problemOfTools } from "../../protocol/chatFaults.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { SYSTEM_KEYS } from "../../protocol/system.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import { isWhole, sharedLength, splitAt } from "./question.ts";
import { withKwargs } from "./rowForm.ts";
import {
  type RowObject,
  OTHER_NAMES,
  answerIn,
  answerMessagesIn,
  lastAnswer,
  messagesIn,
  parseRowObject,
  questionIn,
  withSystemOf,
  wordsOf,
} from "./rowObject.ts";

/** A question and two answers to it, whichever form the line has. */
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

/** A pair, and the keys of its row that it is made of. */
interface ReadPair extends Pair {
  keys: readonly string[];
}

function readPair(object: RowObject): ReadPair {
  if ("preferred_output" in object.row) return openAiPair(object);
  return "rejected_response" in object.row ? swiftPair(object) : trlPair(object);
}

/** ms-swift's: a conversation, and what is not to be its last answer. */
function swiftPair(object: RowObject): ReadPair {
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

function trlPair(object: RowObject): ReadPair {
  const { row, tools, fail } = object;
  const { chosen, rejected } = row;
  if (chosen === undefined && rejected === undefined) return fail(otherForm(row));
  if (chosen === undefined) return fail('a "rejected" answer without a "chosen" one');
  if (rejected === undefined) return fail('a "chosen" answer without a "rejected" one');
  const { isPromptUnread = false, ...parts } = partsOf(object);
  return {
    prompt: withSystemOf(object, questionIn(object, "prompt", parts.prompt)),
    chosen: answerIn(object, "chosen", parts.chosen),
    rejected: answerIn(object, "rejected", parts.rejected),
    ...(tools && { tools }),
    keys: ["chosen", "rejected", ...SYSTEM_KEYS, ...(isPromptUnread ? [] : ["prompt"])],
  };
}

interface Parts extends Record<"prompt" | "chosen" | "rejected", unknown> {
  /** Whether the row's prompt stands outside its conversations. */
  isPromptUnread?: boolean;
}

/** Takes the question once where the answers are whole conversations that have it, too. */
function partsOf(object: RowObject): Parts {
  const { prompt, chosen, rejected } = object.row;
  if (prompt === undefined) return conversations(object);
  const question = questionIn(object, "prompt", prompt);
  const answers = { chosen, rejected };
  const whole = Object.entries(answers).flatMap(([name, value]) => {
    const messages = answerMessagesIn(object, name, value);
    return isWhole(messages) ? [{ name, found: splitAt(question, messages) }] : [];
  });
  const [one, other] = whole;
  const isText = typeof prompt === "string";
  if (one && other) {
    // As TRL's `maybe_extract_prompt`, which does not read a text then.
    if (isText) return { ...conversations(object), isPromptUnread: !one.found };
    if (!one.found || !isDeepStrictEqual(one.found.question, other.found?.question)) {
      return { prompt, ...answers };
    }
    const parts = conversations(object);
    const system = question.filter((message) => message === one.found?.question[0]);
    return { ...parts, prompt: [...system, ...parts.prompt] };
  }
  if (one?.found?.question.length === question.length) {
    return { prompt, ...answers, [one.name]: one.found.answer };
  }
  if (!one || !isText) return { prompt, ...answers };
  return object.fail('of "chosen" and "rejected" one is a conversation, and one an answer alone');
}

/** Two whole conversations, as some datasets of TRL's are: the question is what both begin with. */
function conversations(object: RowObject): Omit<Pair, "tools"> {
  const { row, fail } = object;
  if (!Array.isArray(row.chosen)) return fail('"chosen" and "rejected" without a "prompt"');
  const chosen = messagesIn(object, "chosen", row.chosen);
  const rejected = messagesIn(object, "rejected", row.rejected);
  const same = sharedLength(chosen, rejected);
  if (same === 0) return fail('"chosen" and "rejected" begin with different questions');
  if (same === chosen.length && same === rejected.length) {
    return fail('"chosen" and "rejected" are the same answer');
  }
  if (same === chosen.length) return fail('"rejected" begins with all of "chosen"');
  if (same === rejected.length) return fail('"chosen" begins with all of "rejected"');
  return {
    prompt: chosen.slice(0, same),
    chosen: chosen.slice(same),
    rejected: rejected.slice(same),
  };
}

function openAiPair(object: RowObject): ReadPair {
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

function otherForm(row: Record<string, unknown>): string {
  if ("label" in row) return 'a "label" is what the objective "kto" learns from, not "dpo"';
  if ("messages" in row || "completion" in row || "text" in row) {
    return 'a single answer, while the objective "dpo" learns from two';
  }
  return `no "chosen" and "rejected"${OTHER_NAMES}`;
}

/** Rows of preference pairs. */
export const PAIR_FORM = withKwargs<Pair>({
  expected: EXPECTED_PAIR,
  parse: parsePair,
  columns: {
    own: [["prompt", "chosen", "rejected"]],
    answer: ["chosen", "rejected"],
    last: ["chosen", "rejected"],
  },
  answersOf: ({ chosen }) => wordsOf(chosen),
  rightAnswerOf: ({ prompt, chosen, tools }) => ({
    messages: [...prompt, ...chosen],
    ...(tools && { tools }),
  }),
  isText: () => false,
});
