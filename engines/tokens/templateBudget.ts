import type { Conversation, Message } from "../../protocol/chat.ts";

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
export function budgetOf({ messages, tools = [] }: Conversation): Budget {
  const sizeOf = ({ content = "", tool_calls: calls = [] }: Message) =>
    content.length + (calls.length > 0 ? JSON.stringify(calls).length : 0);
  const said =
    messages.reduce((sum, message) => sum + sizeOf(message), 0) +
    (tools.length > 0 ? JSON.stringify(tools).length : 0);
  return {
    steps: LEAST.steps + STEPS_A_MESSAGE * messages.length + AGAIN * said,
    characters: LEAST.characters + AGAIN * said,
  };
}

/** The part of the library's interpreter that evaluates each node, and those in it. */
export interface Evaluator {
  evaluate: (node: { type: string } | undefined, environment: unknown) => { value: unknown };
}

/** Ends an evaluation that takes too many steps. @throws Error when it does */
export function limitSteps(interpreter: Evaluator, steps: number): void {
  const evaluate = interpreter.evaluate.bind(interpreter);
  let left = steps;
  const spend = (count: number) => {
    left -= count;
    if (left < 0) throw new Error(`it takes more than ${steps} steps`);
  };
  interpreter.evaluate = (node, environment) => {
    spend(1);
    const result = evaluate(node, environment);
    // A variable's value was counted when it was made.
    if (node?.type !== "Identifier") spend(sizeOf(result.value) / ITEMS_A_STEP);
    return result;
  };
}

function sizeOf(value: unknown): number {
  return typeof value === "string" || Array.isArray(value) ? value.length : 0;
}
