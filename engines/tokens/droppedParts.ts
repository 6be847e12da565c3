import type { Conversation, Message } from "../../protocol/chat.ts";
import { type Render, tryRender } from "./chatTemplate.ts";

/** Keys of reasoning in messages. */
const REASONING = ["reasoning_content", "reasoning", "thinking"] as const;
/** A part of messages that a chat template may not know, and then silently drops. */
export type Part = "system" | "later system" | "tool" | (typeof REASONING)[number];

/** The parts of a message that a template may drop. */
export function partsOf({ role, content, ...others }: Message, turn: number): Part[] {
  if (role === "assistant") return REASONING.filter((key) => isText(others[key]));
  if (!isText(content)) return [];
  if (role === "tool") return [role];
  if (role === "user") return [];
  return [turn === 0 ? "system" : "later system"];
}

const NAMES: Partial<Record<Part, string>> = {
  system: "the system message",
  "later system": "the system message after the first message",
  tool: "the tool results",
};

/** A part's name in a message to the user. */
export function nameOf(part: Part): string {
  return NAMES[part] ?? JSON.stringify(part);
}

/** Advice for a part that the template drops. */
export function adviceOn(part: Part, isDropped: (part: Part) => boolean): string {
  if (part === "tool")
    return "use a model whose template supports tools, or put the result in a user message";
  if (part === "later system") return "write all of it in the first message";
  if (part === "system") return "write it in the first user message";
  const supported = REASONING.find((key) => !isDropped(key));
  if (supported !== undefined)
    return `name it ${JSON.stringify(supported)}, which the template writes`;
  return 'write it in "content", or leave it out';
}

/** Whether a chat template drops a part wherever it occurs. Without a template, only reasoning is dropped. */
export function createDroppedParts(render: Render | undefined): (part: Part) => boolean {
  const cached = new Map<Part, boolean>();
  return (part) => {
    const isDropped = cached.get(part) ?? (render ? leavesOut(render, part) : isReasoning(part));
    cached.set(part, isDropped);
    return isDropped;
  };
}

/** Content that is searched for in what the template writes. */
const PROBE = "a probe";
const QUESTION: Message = { role: "user", content: "a question" };
const ANSWER: Message = { role: "assistant", content: "an answer" };
const TOOL = "look";
const CALL: Message = {
  role: "assistant",
  content: "",
  tool_calls: [{ id: "call00001", type: "function", function: { name: TOOL, arguments: "{}" } }],
};
const TOOLS: Conversation["tools"] = [
  {
    type: "function",
    function: {
      name: TOOL,
      description: TOOL,
      parameters: { type: "object", properties: {} },
    },
  },
];
const SYSTEM: Message = { role: "system", content: PROBE };
const RESULT: Message = {
  role: "tool",
  content: PROBE,
  name: TOOL,
  tool_call_id: "call00001",
};

function conversationsWith(part: Part): Conversation[] {
  if (part === "system") return [{ messages: [SYSTEM, QUESTION, ANSWER] }];
  if (part === "later system") return [{ messages: [QUESTION, ANSWER, SYSTEM, QUESTION, ANSWER] }];
  if (part === "tool") {
    const withCall = { messages: [QUESTION, CALL, RESULT, ANSWER], tools: TOOLS };
    return [{ messages: [QUESTION, RESULT, ANSWER] }, withCall];
  }
  const reasoning = { [part]: PROBE };
  const withCall = { messages: [QUESTION, { ...CALL, ...reasoning }], tools: TOOLS };
  return [{ messages: [QUESTION, { ...ANSWER, ...reasoning }] }, withCall];
}

/** Whether the template writes a part nowhere. A template that refuses it doesn't drop it silently. */
function leavesOut(render: Render, part: Part): boolean {
  const written = conversationsWith(part).map((conversation) => tryRender(render, conversation));
  const isRefused = written.every((text) => text === undefined);
  return !isRefused && !written.some((text) => text?.includes(PROBE));
}

export function isReasoning(part: Part): boolean {
  return (REASONING as readonly Part[]).includes(part);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}
