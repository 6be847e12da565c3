import type { ToolCall } from "../../../protocol/chat.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import type { Tokenizer } from "../../tokens/tokenizer.ts";

/** How a model's chat template writes the assistant's calls of tools: JSON with something around. */
export interface ToolForm {
  /** Before the first call. */
  begin: string;
  /** Between two; undefined for a template that writes one alone. */
  separator: string | undefined;
  /** After the last. */
  end: string;
  /** Of a call, before its tool's name, between that and the arguments, and after them. */
  around: readonly [string, string, string];
  /** What a call has its arguments under. */
  key: string;
  /** Special tokens that it has, which an answer has only in calls. */
  markers: readonly number[];
}

const NAMES = ["kit_first", "kit_second"] as const;
const ARGUMENTS = { kit_key: 1 };
const KEYS = ["arguments", "parameters"];
/** What a template writes for an empty reasoning. */
const EMPTY_THOUGHT = /^<think>\s*<\/think>\s*/;

/** Calls that a template writes to show its form: one, and two. */
export const SHOWN_CALLS: readonly (readonly ToolCall[])[] = [
  NAMES.slice(0, 1).map(callOf),
  NAMES.map(callOf),
];

/** A chat template, as far as it writes calls. */
export interface CallsTemplate {
  /** As a tokenizer's. It is asked for `SHOWN_CALLS` alone. */
  callsText: Tokenizer["callsText"];
  /** Tokens that no text spells, and that end no answer, with their texts. */
  specials: () => (readonly [number, string])[];
}

/** As `toolFormOf`. */
export function findToolForm(tokenizer: Tokenizer): ToolForm | undefined {
  const { vocabulary, callsText, isSpecial, isTextToken, isStopToken, bytesOf } = tokenizer;
  const ids = Array.from({ length: vocabulary }, (_, id) => id);
  const specials = () =>
    ids
      .filter((id) => isSpecial(id) && !isTextToken(id) && !isStopToken(id))
      .map((id) => [id, Buffer.from(bytesOf(id)).toString()] as const);
  return toolFormOf({ callsText, specials });
}

/**
 * Finds the form by letting the template write calls.
 * @returns undefined for a template that takes no tools, or writes calls otherwise than as JSON
 */
export function toolFormOf({ callsText, specials }: CallsTemplate): ToolForm | undefined {
  const [one, two] = SHOWN_CALLS.map((calls) => callsText(calls)?.replace(EMPTY_THOUGHT, ""));
  const first = one === undefined ? undefined : placeOf(one, NAMES[0]);
  if (one === undefined || !first) return undefined;
  const [begin, end] = [one.slice(0, first.from), one.slice(first.to)];
  const markers = specials().filter(([, text]) => text !== "" && (begin + end).includes(text));
  return {
    begin,
    end,
    separator: separatorOf(two, begin),
    around: first.around,
    key: first.key,
    markers: markers.map(([id]) => id),
  };
}

function callOf(name: string): ToolCall {
  return { type: "function", id: "kit000001", function: { name, arguments: ARGUMENTS } };
}

/** @param two calls, as they are written */
function separatorOf(two: string | undefined, begin: string): string | undefined {
  const [first, second] = two === undefined ? [] : NAMES.map((name) => placeOf(two, name));
  if (!first || !second || first.from !== begin.length) return undefined;
  return two?.slice(first.to, second.from);
}

/** Where a call's JSON lies in a text. */
function placeOf(text: string, name: string) {
  const named = text.indexOf(JSON.stringify(name));
  const from = text.lastIndexOf("{", named);
  if (named === -1 || from === -1) return undefined;
  for (let to = text.indexOf("}", named) + 1; to > 0; to = text.indexOf("}", to) + 1) {
    const found = parsed(text.slice(from, to));
    const key = KEYS.find((one) => isRecord(found?.[one]));
    if (found?.["name"] !== name || key === undefined) continue;
    const behind = named + name.length + 1;
    const given = text.lastIndexOf("{", text.indexOf('"kit_key"', behind));
    const givenEnd = text.indexOf("}", given) + 1;
    const around = [
      text.slice(from, named + 1),
      text.slice(behind, given),
      text.slice(givenEnd, to),
    ] as const;
    return given > behind ? { from, to, key, around } : undefined;
  }
  return undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : undefined;
  } catch {
    // Goes on.
    return undefined;
  }
}
