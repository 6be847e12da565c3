import type { Conversation, Message } from "../../protocol/chat.ts";
import { stringifyJson } from "../../protocol/json.ts";
import { Markup, Series } from "./jinja/values.ts";

/** What a rendering may cost: far more than any real template takes. */
export interface Budget {
  /** Parts of the template that are evaluated; a value of many numbers or characters counts more. */
  steps: number;
  /** Characters of the result. */
  characters: number;
  /** For what takes long in a single step, such as a list in a list in a list as JSON. Default: 3,000. */
  milliseconds?: number;
}

/** Of a template without a message: half a second, and a system prompt of many pages. */
const LEAST = { steps: 50_000, characters: 65_536 };
const STEPS_A_MESSAGE = 5_000;
/** For each character of the conversation. */
const AGAIN = 16;
const ITEMS_A_STEP = 16;

/** For a conversation of this size, whatever the template says. */
export function budgetOf({ messages, tools, chat_template_kwargs: kwargs }: Conversation): Budget {
  const sizeOf = ({ content = "", tool_calls: calls = [] }: Message) =>
    content.length + (calls.length > 0 ? (stringifyJson(calls) ?? "").length : 0);
  const said =
    messages.reduce((sum, message) => sum + sizeOf(message), 0) +
    (tools || kwargs ? (stringifyJson([tools, kwargs]) ?? "").length : 0);
  return {
    steps: LEAST.steps + STEPS_A_MESSAGE * messages.length + AGAIN * said,
    characters: LEAST.characters + AGAIN * said,
  };
}

/** Takes what each step of an evaluation gives, and throws an Error when they are too many. */
export function createMeter(steps: number): (value: unknown) => void {
  let left = steps;
  return (value) => {
    left -= 1 + sizeOf(value) / ITEMS_A_STEP;
    if (left < 0) throw new Error(`it takes more than ${steps} steps`);
  };
}

function sizeOf(value: unknown): number {
  if (value instanceof Series) return value.size;
  return typeof value === "string" || Array.isArray(value) || value instanceof Markup
    ? value.length
    : 0;
}
