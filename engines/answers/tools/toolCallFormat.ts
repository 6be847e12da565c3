import type { ToolCall } from "../../../protocol/chat.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import type { Tokenizer } from "../../tokens/tokenizer.ts";

/** How a chat template writes tool calls: JSON with text around it. */
export interface ToolCallFormat {
  /** Before the first call. */
  begin: string;
  /** Between two calls; undefined if the template writes only one. */
  separator: string | undefined;
  /** After the last call. */
  end: string;
  /** A call's text before the tool's name, between name and arguments, and after them. */
  delimiters: readonly [string, string, string];
  /** The key of the arguments. */
  key: string;
  /** Its special tokens, which answers contain only in calls. */
  markers: readonly number[];
}

const NAMES = ["kit_first", "kit_second"] as const;
const ARGUMENTS = { kit_key: 1 };
const KEYS = ["arguments", "parameters"];
const EMPTY_THINKING = /^<think>\s*<\/think>\s*/;

/** Sample calls for the template to render: one, and two. */
export const SAMPLE_CALLS: readonly (readonly ToolCall[])[] = [
  NAMES.slice(0, 1).map(callOf),
  NAMES.map(callOf),
];

/** A chat template's rendering of calls. */
export interface CallsTemplate {
  /** As a tokenizer's; used only for `SAMPLE_CALLS`. */
  callsText: Tokenizer["callsText"];
  /** Special tokens other than stop tokens, with their texts. */
  specials: () => (readonly [number, string])[];
}

/** As `toolCallFormatOf`. */
export function findToolCallFormat(tokenizer: Tokenizer): ToolCallFormat | undefined {
  const { vocabulary, callsText, isSpecial, isTextToken, isStopToken, bytesOf } = tokenizer;
  const ids = Array.from({ length: vocabulary }, (_, id) => id);
  const specials = () =>
    ids
      .filter((id) => isSpecial(id) && !isTextToken(id) && !isStopToken(id))
      .map((id) => [id, Buffer.from(bytesOf(id)).toString()] as const);
  return toolCallFormatOf({ callsText, specials });
}

/**
 * Detects the format by rendering sample calls.
 * @returns undefined for a template without tools, or with calls other than JSON
 */
export function toolCallFormatOf({
  callsText,
  specials,
}: CallsTemplate): ToolCallFormat | undefined {
  const [one, two] = SAMPLE_CALLS.map((calls) => callsText(calls)?.replace(EMPTY_THINKING, ""));
  const first = one === undefined ? undefined : callIn(one, NAMES[0]);
  if (one === undefined || !first) return undefined;
  const [begin, end] = [one.slice(0, first.from), one.slice(first.to)];
  const markers = specials().filter(([, text]) => text !== "" && (begin + end).includes(text));
  return {
    begin,
    end,
    separator: separatorOf(two, begin),
    delimiters: first.delimiters,
    key: first.key,
    markers: markers.map(([id]) => id),
  };
}

function callOf(name: string): ToolCall {
  return { type: "function", id: "kit000001", function: { name, arguments: ARGUMENTS } };
}

/** @param two rendered calls */
function separatorOf(two: string | undefined, begin: string): string | undefined {
  const [first, second] = two === undefined ? [] : NAMES.map((name) => callIn(two, name));
  if (!first || !second || first.from !== begin.length) return undefined;
  return two?.slice(first.to, second.from);
}

/** Finds a call's JSON in a text. */
function callIn(text: string, name: string) {
  const named = text.indexOf(JSON.stringify(name));
  const from = text.lastIndexOf("{", named);
  if (named === -1 || from === -1) return undefined;
  for (let to = text.indexOf("}", named) + 1; to > 0; to = text.indexOf("}", to) + 1) {
    const found = parsed(text.slice(from, to));
    const key = KEYS.find((one) => isRecord(found?.[one]));
    if (found?.["name"] !== name || key === undefined) continue;
    const nameEnd = named + name.length + 1;
    const argumentsStart = text.lastIndexOf("{", text.indexOf('"kit_key"', nameEnd));
    const argumentsEnd = text.indexOf("}", argumentsStart) + 1;
    const delimiters = [
      text.slice(from, named + 1),
      text.slice(nameEnd, argumentsStart),
      text.slice(argumentsEnd, to),
    ] as const;
    return argumentsStart > nameEnd ? { from, to, key, delimiters } : undefined;
  }
  return undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : undefined;
  } catch {
    // Incomplete.
    return undefined;
  }
}
