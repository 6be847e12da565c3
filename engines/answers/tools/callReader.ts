import jsonc from "jsonc-parser";
import type { ToolCall } from "../../../protocol/chat.ts";
import { createStops } from "../stops.ts";
import type { ToolCallFormat } from "./toolCallFormat.ts";

/** Text and calls that new text completes. */
export interface ParsedDelta {
  text: string;
  toolCalls: ToolCall[];
}

/** Extracts tool calls from an answer's text stream. */
export interface CallReader {
  push: (text: string) => ParsedDelta;
  /**
   * Returns the held-back text at the end of the answer.
   * @param isTruncated whether the model would have continued, so an unfinished call doesn't count as text
   * @returns also the unfinished call, if its name is complete
   */
  flush: (isTruncated: boolean) => { text: string; truncatedCall?: ToolCall | undefined };
}

/**
 * @param names of the tools; a call of another name stays text
 * @param isCallOnly whether the answer must consist of calls
 */
export function createCallReader(
  { begin, separator, end, argumentsKey, delimiters }: ToolCallFormat,
  names: readonly string[],
  isCallOnly = false,
): CallReader {
  // Models vary the white space, so only the first word is matched exactly.
  const [marker = ""] = begin.trim().split(/\s/);
  const opening = withoutWhiteSpace(begin).slice(marker.length);
  const [separatorText, endText] = [
    separator === undefined ? "" : withoutWhiteSpace(separator),
    withoutWhiteSpace(end),
  ];
  let stops = createStops(marker === "" ? [] : [marker]);
  let state: "text" | "opening" | "call" | "after" = marker === "" ? "opening" : "text";
  /** Text that may be a call. */
  let held = "";
  /** The expected text before the next call's JSON, without white space. */
  let lead = marker + opening;
  let isAfterCall = false;

  function push(text: string): ParsedDelta {
    const parsed: ParsedDelta = { text: "", toolCalls: [] };
    let more: string | undefined = text;
    while (more !== undefined) more = step(more, parsed);
    return parsed;
  }

  /** Consumes text. @returns the remaining text; undefined if it needs more */
  function step(more: string, parsed: ParsedDelta): string | undefined {
    switch (state) {
      case "text": {
        const { text, isStopped, after } = stops.push(more);
        parsed.text += trimmedAfterCall(text);
        if (!isStopped) return undefined;
        held = marker;
        lead = marker + opening;
        state = "opening";
        return after;
      }
      case "opening":
        held += more;
        return readOpening(parsed);
      case "call":
        held += more;
        return readCall(parsed);
      case "after":
        held += more;
        return readAfterCall();
    }
  }

  function readOpening(parsed: ParsedDelta): string | undefined {
    const found = textAfter(held.slice(marker.length), opening);
    if (found === PARTIAL) return undefined;
    if (found === undefined) return fallBackToText(parsed);
    state = "call";
    return "";
  }

  function readCall(parsed: ParsedDelta): string | undefined {
    const from = held.indexOf("{");
    const before = from === -1 ? held : held.slice(0, from);
    const isOpening = withoutWhiteSpace(before) === lead;
    if (from === -1) return isOpening ? undefined : fallBackToText(parsed);
    if (!isOpening) return fallBackToText(parsed);
    const to = objectEnd(held, from);
    if (to === undefined) return undefined;
    const call = callOf(held.slice(from, to));
    if (!call) return fallBackToText(parsed);
    parsed.toolCalls.push(call);
    held = held.slice(to);
    state = "after";
    return "";
  }

  function readAfterCall(): string | undefined {
    const next =
      separatorText === "" || separatorText.startsWith(endText)
        ? undefined
        : textAfter(held, separatorText);
    if (next === PARTIAL) return undefined;
    if (next !== undefined) {
      lead = separatorText;
      state = "call";
      return "";
    }
    const ended = textAfter(held, endText);
    if (ended === PARTIAL) return undefined;
    const rest = ended ?? held;
    held = "";
    state = "text";
    stops = createStops(marker === "" ? [] : [marker]);
    isAfterCall = true;
    return rest;
  }

  /** The text without white space that follows a call. */
  function trimmedAfterCall(text: string): string {
    const trimmed = isAfterCall ? text.trimStart() : text;
    if (trimmed !== "") isAfterCall = false;
    return trimmed;
  }

  /** Treats the held-back text as text. */
  function fallBackToText(parsed: ParsedDelta): string | undefined {
    const text = held;
    held = "";
    state = "text";
    stops = createStops(marker === "" ? [] : [marker]);
    // Avoids matching the same marker again.
    const skipped = text.startsWith(marker) ? marker.length : 0;
    parsed.text += text.slice(0, skipped);
    return text.slice(skipped);
  }

  /** Whether the held-back text begins a call. */
  function isInCall(): boolean {
    if (state === "text") return false;
    return marker !== "" || withoutWhiteSpace(held).startsWith(withoutWhiteSpace(delimiters[0]));
  }

  function callOf(text: string): ToolCall | undefined {
    const isWhole = isJson(text) && membersOf(text).get(argumentsKey)?.type === "object";
    return isWhole ? begunCallOf(text) : undefined;
  }

  /** @param text JSON or its beginning */
  function begunCallOf(text: string): ToolCall | undefined {
    const members = membersOf(text);
    const name: unknown = members.get("name")?.value;
    if (typeof name !== "string" || !names.includes(name)) return undefined;
    const { offset = 0, length = 0 } = members.get(argumentsKey) ?? {};
    // Verbatim: parsing could change numbers and the order of keys.
    const written = text.slice(offset, offset + length);
    return { type: "function", function: { name, arguments: written } };
  }

  return {
    push,
    flush(isTruncated) {
      const remaining = state === "text" ? trimmedAfterCall(stops.flush()) : held;
      const isCall = state === "after" || (isTruncated && (isCallOnly || isInCall()));
      const begun = state === "call" && isCall ? /\{.*/s.exec(held)?.[0] : undefined;
      held = "";
      return { text: isCall ? "" : remaining, truncatedCall: begunCallOf(begun ?? "") };
    },
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The members of a JSON object, or of its beginning, by name. */
function membersOf(text: string): Map<string, jsonc.Node> {
  const members = (jsonc.parseTree(text)?.children ?? []).flatMap(
    ({ children: [name, value] = [] }) =>
      name && value ? [[String(name.value), value] as const] : [],
  );
  return new Map(members);
}

function withoutWhiteSpace(text: string): string {
  return text.replace(/\s/g, "");
}

/** The text ends within the prefix. */
const PARTIAL = Symbol("partial");

/** The text after a prefix, ignoring white space. */
function textAfter(text: string, prefix: string): string | typeof PARTIAL | undefined {
  let at = 0;
  for (const character of prefix) {
    while (/\s/.test(text[at] ?? "")) at++;
    if (at >= text.length) return PARTIAL;
    if (text[at] !== character) return undefined;
    at++;
  }
  return text.slice(at);
}

/** The end of the object that starts at an offset; undefined if incomplete. */
function objectEnd(text: string, from: number): number | undefined {
  let depth = 0;
  let isInString = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}
