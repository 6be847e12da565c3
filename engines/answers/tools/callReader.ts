import jsonc from "jsonc-parser";
import type { ToolCall } from "../../../protocol/chat.ts";
import { createStops } from "../stops.ts";
import type { ToolCallFormat } from "./toolCallFormat.ts";

/** The text and calls read so far. */
export interface Read {
  text: string;
  toolCalls: ToolCall[];
}

/** Extracts tool calls from an answer's text stream. */
export interface CallReader {
  push: (text: string) => Read;
  /**
   * Flushes held-back text at the end.
   * @param isTruncated whether the model would have continued, so an unfinished call doesn't count as text
   */
  rest: (isTruncated: boolean) => Read;
}

/**
 * @param names of the tools; a call of another name stays text
 * @param isCallOnly whether the answer must consist of calls
 */
export function createCallReader(
  { begin, separator, end, key, delimiters }: ToolCallFormat,
  names: readonly string[],
  isCallOnly = false,
): CallReader {
  // White space varies between models.
  const [marker = ""] = begin.trim().split(/\s/);
  const opening = withoutWhiteSpace(begin).slice(marker.length);
  const [between, closing] = [
    separator === undefined ? "" : withoutWhiteSpace(separator),
    withoutWhiteSpace(end),
  ];
  let stops = createStops(marker === "" ? [] : [marker]);
  let state: "text" | "opening" | "call" | "after" = marker === "" ? "opening" : "text";
  /** Text that may be a call. */
  let held = "";
  /** Its expected text before the call's JSON, without white space. */
  let lead = marker + opening;
  let isAfterCall = false;

  function push(text: string): Read {
    const read: Read = { text: "", toolCalls: [] };
    let more: string | undefined = text;
    while (more !== undefined) more = step(more, read);
    return read;
  }

  /** Consumes text. @returns the remaining text; undefined if it needs more */
  function step(more: string, read: Read): string | undefined {
    switch (state) {
      case "text": {
        const { text, isStopped, after } = stops.push(more);
        read.text += trimmedAfterCall(text);
        if (!isStopped) return undefined;
        held = marker;
        lead = marker + opening;
        state = "opening";
        return after;
      }
      case "opening":
        held += more;
        return openedBy(read);
      case "call":
        held += more;
        return called(read);
      case "after":
        held += more;
        return closed();
    }
  }

  function openedBy(read: Read): string | undefined {
    const found = textAfter(held.slice(marker.length), opening);
    if (found === PARTIAL) return undefined;
    if (found === undefined) return asText(read);
    state = "call";
    return "";
  }

  function called(read: Read): string | undefined {
    const from = held.indexOf("{");
    const before = from === -1 ? held : held.slice(0, from);
    const isOpening = withoutWhiteSpace(before) === lead;
    if (from === -1) return isOpening ? undefined : asText(read);
    if (!isOpening) return asText(read);
    const to = objectEnd(held, from);
    if (to === undefined) return undefined;
    const call = callOf(held.slice(from, to));
    if (!call) return asText(read);
    read.toolCalls.push(call);
    held = held.slice(to);
    state = "after";
    return "";
  }

  function closed(): string | undefined {
    const next =
      between === "" || between.startsWith(closing) ? undefined : textAfter(held, between);
    if (next === PARTIAL) return undefined;
    if (next !== undefined) {
      lead = between;
      state = "call";
      return "";
    }
    const ended = textAfter(held, closing);
    if (ended === PARTIAL) return undefined;
    const rest = ended ?? held;
    held = "";
    state = "text";
    stops = createStops(marker === "" ? [] : [marker]);
    isAfterCall = true;
    return rest;
  }

  /** Drops white space after a call. */
  function trimmedAfterCall(text: string): string {
    const own = isAfterCall ? text.trimStart() : text;
    if (own !== "") isAfterCall = false;
    return own;
  }

  /** Treats the held-back text as text. */
  function asText(read: Read): string | undefined {
    const text = held;
    held = "";
    state = "text";
    stops = createStops(marker === "" ? [] : [marker]);
    // Avoids matching the same marker again.
    const known = text.startsWith(marker) ? marker.length : 0;
    read.text += text.slice(0, known);
    return text.slice(known);
  }

  /** Whether the held-back text begins a call. */
  function isInCall(): boolean {
    if (state === "text") return false;
    return marker !== "" || withoutWhiteSpace(held).startsWith(withoutWhiteSpace(delimiters[0]));
  }

  function callOf(text: string): ToolCall | undefined {
    const members = membersOf(text);
    const [named, given] = [members?.get("name"), members?.get(key)];
    const name: unknown = named?.value;
    if (typeof name !== "string" || !names.includes(name) || given?.type !== "object") {
      return undefined;
    }
    // Verbatim: parsing could change numbers and the order of keys.
    const written = text.slice(given.offset, given.offset + given.length);
    return { type: "function", function: { name, arguments: written } };
  }

  return {
    push,
    rest(isTruncated) {
      const left = state === "text" ? trimmedAfterCall(stops.rest()) : held;
      const isCall = state === "after" || (isTruncated && (isCallOnly || isInCall()));
      held = "";
      return { text: isCall ? "" : left, toolCalls: [] };
    },
  };
}

/** The members of a JSON object by name; undefined for invalid JSON. */
function membersOf(text: string): Map<string, jsonc.Node> | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const members = (jsonc.parseTree(text)?.children ?? []).flatMap(
    ({ children: [name, value] = [] }) =>
      name && value ? [[String(name.value), value] as const] : [],
  );
  return new Map(members);
}

function withoutWhiteSpace(text: string): string {
  return text.replace(/\s/g, "");
}

/** More text is needed. */
const PARTIAL = Symbol("begun");

/** The text after a prefix, ignoring white space. */
function textAfter(text: string, beginning: string): string | typeof PARTIAL | undefined {
  let at = 0;
  for (const character of beginning) {
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
  let isString = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (isString) {
      if (character === "\\") at++;
      else if (character === '"') isString = false;
    } else if (character === '"') isString = true;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}
