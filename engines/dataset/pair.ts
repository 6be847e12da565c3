import { isDeepStrictEqual } from "node:util";
import { type Message, type Tool, asTools, problemOfTools } from "../../protocol/chat.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import constants from "../python/kit_engine/constants.json" with { type: "json" };
import type { IgnoredKeys } from "./ignoredKeys.ts";
import type { RowForm } from "./rowForm.ts";
import {
  type RowObject,
  answerIn,
  messagesIn,
  parseRowObject,
  questionIn,
  wordsOf,
} from "./rowObject.ts";

/** A question and two answers to it, whichever form the line has. */
export interface Pair {
  prompt: Message[];
  chosen: Message[];
  rejected: Message[];
  tools?: readonly Tool[];
}

/** @throws KitError `DATASET_INVALID`, its message beginning with `where` */
function parsePair(value: unknown, where: string, ignored?: IgnoredKeys): Pair {
  const object = parseRowObject(value, where, constants.expectedPair);
  const { row, fail } = object;
  const { tools, ...pair } = "preferred_output" in row ? openAiPair(object) : trlPair(object);
  if (isDeepStrictEqual(pair.chosen, pair.rejected)) {
    return fail('"chosen" and "rejected" are the same answer');
  }
  ignored?.add(row, FORMS.find((form) => form.every((key) => key in row)) ?? []);
  return { ...pair, ...(tools && { tools }) };
}

const FORMS = [
  ["prompt", "chosen", "rejected"],
  ["chosen", "rejected"],
  ["input", "preferred_output", "non_preferred_output"],
];

function trlPair(object: RowObject): Pair {
  const { row, tools, fail } = object;
  const { prompt, chosen, rejected } = row;
  if (chosen === undefined && rejected === undefined) return fail(otherForm(row));
  if (chosen === undefined) return fail('a "rejected" answer without a "chosen" one');
  if (rejected === undefined) return fail('a "chosen" answer without a "rejected" one');
  const whole = prompt === undefined ? conversations(object) : row;
  return {
    prompt: questionIn(object, "prompt", whole.prompt),
    chosen: answerIn(object, "chosen", whole.chosen),
    rejected: answerIn(object, "rejected", whole.rejected),
    ...(tools && { tools }),
  };
}

/** Two whole conversations, as some datasets of TRL's are: the question is what both begin with. */
function conversations(object: RowObject): Record<keyof Omit<Pair, "tools">, unknown> {
  const { row, fail } = object;
  if (!Array.isArray(row.chosen)) return fail('"chosen" and "rejected" without a "prompt"');
  const chosen = messagesIn(object, "chosen", row.chosen);
  const rejected = messagesIn(object, "rejected", row.rejected);
  let same = chosen.findIndex((message, at) => !isDeepStrictEqual(message, rejected[at]));
  if (same === -1) same = chosen.length;
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

function openAiPair(object: RowObject): Pair {
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
  };
}

function otherForm(row: Record<string, unknown>): string {
  if ("label" in row) return 'a "label" is what the objective "kto" learns from, not "dpo"';
  if ("messages" in row || "completion" in row || "text" in row) {
    return 'a single answer, while the objective "dpo" learns from two';
  }
  return `no "chosen" and "rejected"${constants.otherNames}`;
}

/** Rows of preference pairs. */
export const PAIR_FORM: RowForm<Pair> = {
  expected: constants.expectedPair,
  parse: parsePair,
  columns: [
    ["prompt", "chosen", "rejected"],
    ["chosen", "rejected"],
  ],
  answersOf: ({ chosen }) => wordsOf(chosen),
  rightAnswerOf: ({ prompt, chosen, tools }) => ({
    messages: [...prompt, ...chosen],
    ...(tools && { tools }),
  }),
  isText: () => false,
};
