import type { Conversation, Message } from "../../protocol/chat.ts";
import { stringifyJson } from "../../protocol/json.ts";
import { Markup, Series } from "./jinja/values.ts";

/** Limits of a rendering, far above what real templates need. */
export interface Budget {
  /** Evaluation steps; large values count more. */
  steps: number;
  /** Characters of the result. */
  characters: number;
  /** Limits steps that are slow, such as writing deeply nested lists as JSON. Default: 3,000. */
  milliseconds?: number;
}

/** The budget without messages: enough for half a second of work and a system prompt of many pages. */
const BASE = { steps: 50_000, characters: 65_536 };
const STEPS_PER_MESSAGE = 5_000;
/** Additional steps, and additional characters, for each character of the conversation. */
const PER_CHARACTER = 16;
const ITEMS_PER_STEP = 16;

/** The budget for a conversation, by its size. */
export function budgetOf({ messages, tools, chat_template_kwargs: kwargs }: Conversation): Budget {
  const sizeOf = ({ content = "", tool_calls: calls = [] }: Message) =>
    content.length + (calls.length > 0 ? (stringifyJson(calls) ?? "").length : 0);
  const size =
    messages.reduce((sum, message) => sum + sizeOf(message), 0) +
    (tools || kwargs ? (stringifyJson([tools, kwargs]) ?? "").length : 0);
  return {
    steps: BASE.steps + STEPS_PER_MESSAGE * messages.length + PER_CHARACTER * size,
    characters: BASE.characters + PER_CHARACTER * size,
  };
}

/** Counts a step for each evaluated value, and more for a large one. Throws an Error beyond the limit. */
export function createMeter(steps: number): (value: unknown) => void {
  let remaining = steps;
  return (value) => {
    remaining -= 1 + sizeOf(value) / ITEMS_PER_STEP;
    if (remaining < 0) throw new Error(`it takes more than ${steps} steps`);
  };
}

function sizeOf(value: unknown): number {
  if (value instanceof Series) return value.size;
  return typeof value === "string" || Array.isArray(value) || value instanceof Markup
    ? value.length
    : 0;
}
