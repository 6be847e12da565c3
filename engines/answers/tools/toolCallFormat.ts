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
  /** The key of the arguments in the call's JSON. */
  argumentsKey: string;
  /** The format's special tokens. Answers contain them only in calls. */
  markers: readonly number[];
}

const NAMES = ["kit_first", "kit_second"] as const;
const ARGUMENTS = { kit_key: 1 };
const ARGUMENTS_KEYS = ["arguments", "parameters"];
const EMPTY_THINKING = /^<think>\s*<\/think>\s*/;

/** Sample calls for the template to render: one, and two. */
export const SAMPLE_CALLS: readonly (readonly ToolCall[])[] = [
  NAMES.slice(0, 1).map(callOf),
  NAMES.map(callOf),
];

/** Renders calls as a chat template does. */
export interface CallsTemplate {
  /** As in `Tokenizer`; called only with `SAMPLE_CALLS`. */
  callsText: Tokenizer["callsText"];
  /** Special tokens other than stop tokens, with their texts. */
  specials: () => (readonly [number, string])[];
}

/** Detects the format of the tokenizer's chat template, as `toolCallFormatOf` does. */
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
  const [single, double] = SAMPLE_CALLS.map((calls) =>
    callsText(calls)?.replace(EMPTY_THINKING, ""),
  );
  const first = single === undefined ? undefined : findCall(single, NAMES[0]);
  if (single === undefined || !first) return undefined;
  const [begin, end] = [single.slice(0, first.from), single.slice(first.to)];
  const markers = specials().filter(([, text]) => text !== "" && (begin + end).includes(text));
  return {
    begin,
    end,
    separator: separatorOf(double, begin),
    delimiters: first.delimiters,
    argumentsKey: first.argumentsKey,
    markers: markers.map(([id]) => id),
  };
}

function callOf(name: string): ToolCall {
  return { type: "function", id: "kit000001", function: { name, arguments: ARGUMENTS } };
}

/** @param double two calls as the template renders them */
function separatorOf(double: string | undefined, begin: string): string | undefined {
  const [first, second] = double === undefined ? [] : NAMES.map((name) => findCall(double, name));
  if (!first || !second || first.from !== begin.length) return undefined;
  return double?.slice(first.to, second.from);
}

/** Finds a call's JSON in a text. */
function findCall(text: string, name: string) {
  const nameStart = text.indexOf(JSON.stringify(name));
  const from = text.lastIndexOf("{", nameStart);
  if (nameStart === -1 || from === -1) return undefined;
  for (let to = text.indexOf("}", nameStart) + 1; to > 0; to = text.indexOf("}", to) + 1) {
    const found = parseObject(text.slice(from, to));
    const argumentsKey = ARGUMENTS_KEYS.find((key) => isRecord(found?.[key]));
    if (found?.["name"] !== name || argumentsKey === undefined) continue;
    const nameEnd = nameStart + name.length + 1;
    const argumentsStart = text.lastIndexOf("{", text.indexOf('"kit_key"', nameEnd));
    const argumentsEnd = text.indexOf("}", argumentsStart) + 1;
    const delimiters = [
      text.slice(from, nameStart + 1),
      text.slice(nameEnd, argumentsStart),
      text.slice(argumentsEnd, to),
    ] as const;
    return argumentsStart > nameEnd ? { from, to, argumentsKey, delimiters } : undefined;
  }
  return undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) ? found : undefined;
  } catch {
    // Incomplete.
    return undefined;
  }
}
