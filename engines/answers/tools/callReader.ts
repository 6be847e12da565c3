import jsonc from "jsonc-parser";
import type { ToolCall } from "../../../protocol/chat.ts";
import { createStops } from "../stops.ts";
import type { ToolForm } from "./toolForm.ts";

/** What is known of an answer. */
export interface Read {
  text: string;
  toolCalls: ToolCall[];
}

/** Tells the calls of tools in an answer from its text, as it comes. */
export interface CallReader {
  push: (text: string) => Read;
  /**
   * What was held back, once nothing more comes.
   * @param isCut whether the model would go on, so that an unfinished call does not count as text
   */
  rest: (isCut: boolean) => Read;
}

/**
 * @param names of the tools; a call of any other name stays text
 * @param isHeld whether the answer can be nothing but calls
 */
export function createCallReader(
  { begin, separator, end, key, around }: ToolForm,
  names: readonly string[],
  isHeld = false,
): CallReader {
  // White space varies between models.
  const [marker = ""] = begin.trim().split(/\s/);
  const opening = bare(begin).slice(marker.length);
  const [between, closing] = [separator === undefined ? "" : bare(separator), bare(end)];
  let stops = createStops(marker === "" ? [] : [marker]);
  let state: "text" | "opening" | "call" | "behind" = marker === "" ? "opening" : "text";
  /** Of what may be a call. */
  let held = "";
  /** What comes before the call in it, without white space. */
  let lead = marker + opening;
  let isBehindCall = false;

  function push(text: string): Read {
    const read: Read = { text: "", toolCalls: [] };
    let more: string | undefined = text;
    while (more !== undefined) more = step(more, read);
    return read;
  }

  /** Takes more of the answer. @returns what is left to take; undefined if more must come */
  function step(more: string, read: Read): string | undefined {
    switch (state) {
      case "text": {
        const { text, isStopped, after } = stops.push(more);
        read.text += withoutSpace(text);
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
      case "behind":
        held += more;
        return closed();
    }
  }

  function openedBy(read: Read): string | undefined {
    const found = behind(held.slice(marker.length), opening);
    if (found === BEGUN) return undefined;
    if (found === undefined) return giveUp(read);
    state = "call";
    return "";
  }

  function called(read: Read): string | undefined {
    const from = held.indexOf("{");
    const before = from === -1 ? held : held.slice(0, from);
    const isOpening = bare(before) === lead;
    if (from === -1) return isOpening ? undefined : giveUp(read);
    if (!isOpening) return giveUp(read);
    const to = objectEnd(held, from);
    if (to === undefined) return undefined;
    const call = callOf(held.slice(from, to));
    if (!call) return giveUp(read);
    read.toolCalls.push(call);
    held = held.slice(to);
    state = "behind";
    return "";
  }

  function closed(): string | undefined {
    const next = between === "" || between.startsWith(closing) ? undefined : behind(held, between);
    if (next === BEGUN) return undefined;
    if (next !== undefined) {
      lead = between;
      state = "call";
      return "";
    }
    const ended = behind(held, closing);
    if (ended === BEGUN) return undefined;
    const rest = ended ?? held;
    held = "";
    state = "text";
    stops = createStops(marker === "" ? [] : [marker]);
    isBehindCall = true;
    return rest;
  }

  /** White space behind a call is not the answer's. */
  function withoutSpace(text: string): string {
    const own = isBehindCall ? text.trimStart() : text;
    if (own !== "") isBehindCall = false;
    return own;
  }

  /** What was held is text. */
  function giveUp(read: Read): string | undefined {
    const text = held;
    held = "";
    state = "text";
    stops = createStops(marker === "" ? [] : [marker]);
    // Avoids matching the same place again.
    const known = text.startsWith(marker) ? marker.length : 0;
    read.text += text.slice(0, known);
    return text.slice(known);
  }

  /** Whether what is held is the beginning of a call. */
  function isBegun(): boolean {
    if (state === "text") return false;
    return marker !== "" || bare(held).startsWith(bare(around[0]));
  }

  function callOf(text: string): ToolCall | undefined {
    const members = membersOf(text);
    const [named, given] = [members?.get("name"), members?.get(key)];
    const name: unknown = named?.value;
    if (typeof name !== "string" || !names.includes(name) || given?.type !== "object") {
      return undefined;
    }
    // As it is written: parsed, numbers and the order of keys may change.
    const written = text.slice(given.offset, given.offset + given.length);
    return { type: "function", function: { name, arguments: written } };
  }

  return {
    push,
    rest(isCut) {
      const left = state === "text" ? withoutSpace(stops.rest()) : held;
      const isCall = state === "behind" || (isCut && (isHeld || isBegun()));
      held = "";
      return { text: isCall ? "" : left, toolCalls: [] };
    },
  };
}

/** The members of an object's JSON by their names; undefined for what is no JSON. */
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

/** Without white space. */
function bare(text: string): string {
  return text.replace(/\s/g, "");
}

/** More text is needed to tell. */
const BEGUN = Symbol("begun");

/** What follows a prefix, ignoring white space. */
function behind(text: string, beginning: string): string | typeof BEGUN | undefined {
  let at = 0;
  for (const character of beginning) {
    while (/\s/.test(text[at] ?? "")) at++;
    if (at >= text.length) return BEGUN;
    if (text[at] !== character) return undefined;
    at++;
  }
  return text.slice(at);
}

/** Where the object that begins at a place ends; undefined while it is open. */
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
