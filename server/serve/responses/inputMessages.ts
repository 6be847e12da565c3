import {
  type ChatMessage,
  type TextPart,
  type ToolCall,
  argumentsOf,
  textOf,
} from "../../../protocol/chat.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { invalid } from "../apiError.ts";
import { type Body, fieldOf } from "../fields.ts";

/** A message, with the reasoning that chat templates read. */
type Message = ChatMessage & { reasoning_content?: string };

const ROLES: unknown[] = ["system", "developer", "user", "assistant"];
const TEXT_PARTS: unknown[] = ["input_text", "output_text", "reasoning_text", "summary_text"];

/** Readers of items by type. */
const READERS: Record<string, (item: Body, field: string) => Message | undefined> = {
  message(item, field) {
    const role = fieldOf(item, "role") as Message["role"];
    const path = `${field}.role`;
    if (fieldOf(item, "tool_calls") !== undefined) {
      const name = `${field}.tool_calls`;
      throw invalid(
        name,
        `${name} is not supported. Send each call as an item of type function_call.`,
      );
    }
    const content = textsOf(item, "content", field);
    if (ROLES.includes(role)) return { role, content };
    throw invalid(path, `${path} must be system, developer, user or assistant.`);
  },
  function_call(item, field) {
    const [id, name] = [stringOf(item, "call_id", field), stringOf(item, "name", field)];
    const argumentsText = stringOf(item, "arguments", field);
    const call: ToolCall = { id, type: "function", function: { name, arguments: argumentsText } };
    if (argumentsOf(argumentsText)) return { role: "assistant", content: null, tool_calls: [call] };
    const path = `${field}.arguments`;
    throw invalid(path, `${path} must be a JSON object, as a string.`);
  },
  function_call_output(item, field) {
    const tool_call_id = stringOf(item, "call_id", field);
    return { role: "tool", tool_call_id, content: textsOf(item, "output", field) };
  },
  reasoning(item, field) {
    const names = ["content", "summary"].filter((name) => fieldOf(item, name) !== undefined);
    const texts = names.map((name) => textOf(textsOf(item, name, field)));
    const reasoning_content = texts.find((text) => text !== "");
    if (reasoning_content) return { role: "assistant", content: "", reasoning_content };
    if (fieldOf(item, "encrypted_content") === undefined) return undefined;
    const path = `${field}.encrypted_content`;
    throw invalid(path, `${path} is readable only by its own server. Leave the item out.`);
  },
  item_reference(_, field) {
    const advice = "Send the item itself, as the AI SDK does with store: false.";
    throw invalid(field, `${field} refers to an item, but kit serve stores none. ${advice}`);
  },
};

/**
 * Reads `instructions` and `input` as a conversation, with the field of each message.
 * @throws ApiError 400 naming the invalid field
 */
export function inputMessages(body: Body): {
  messages: ChatMessage[];
  names: Record<string, string>;
} {
  const messages: Message[] = [];
  const names: Record<string, string> = { messages: "input" };

  function add(message: Message, field: string): void {
    const whole = joined(messages.at(-1), message);
    if (whole) messages[messages.length - 1] = whole;
    else names[`messages[${messages.push(message) - 1}]`] = field;
  }

  if (fieldOf(body, "instructions") !== undefined) {
    add({ role: "system", content: stringOf(body, "instructions") }, "instructions");
  }
  const count = messages.length;
  const input = fieldOf(body, "input");
  const items: unknown[] = Array.isArray(input) ? input : [];
  if (typeof input === "string") add({ role: "user", content: input }, "input");
  const entries = items.map((item, at): Entry => [item, `input[${at}]`]);
  for (const [item, field] of inCallOrder(entries)) {
    const message = messageOf(item, field);
    if (message) add(message, field);
  }
  if (messages.length > count) return { messages, names };
  throw invalid("input", "input must be a string, or a list of at least one message.");
}

type Entry = [item: unknown, field: string];

/**
 * Sorts outputs by their calls, because chat templates without ids match them by order.
 * @throws ApiError 400 unless each call has one output
 */
function inCallOrder(entries: readonly Entry[]): Entry[] {
  const calls = new Map<string, { order: number; field: string; isAnswered: boolean }>();
  /** An output has its call's order; other items have -1, so that no output moves before them. */
  const sorted: { entry: Entry; order: number }[] = [];
  for (const entry of entries) {
    const [item, field] = entry;
    const body = isRecord(item) ? item : {};
    const type = fieldOf(body, "type");
    const isOutput = type === "function_call_output";
    if (!isOutput) sorted.push({ entry, order: -1 });
    if (!isOutput && type !== "function_call") continue;
    const id = stringOf(body, "call_id", field);
    const path = `${field}.call_id`;
    if (!isOutput) {
      if (calls.has(id)) throw invalid(path, `${path} is that of an earlier call.`);
      calls.set(id, { order: calls.size, field, isAnswered: false });
      continue;
    }
    const call = calls.get(id);
    if (!call) throw invalid(path, `No tool call found for function call output ${id}.`);
    if (call.isAnswered) throw invalid(path, `${field} is a second output of one call.`);
    call.isAnswered = true;
    const before = sorted.findLastIndex(({ order }) => order < call.order);
    sorted.splice(before + 1, 0, { entry, order: call.order });
  }
  for (const [id, { field, isAnswered }] of calls) {
    if (isAnswered) continue;
    const advice = "Send a function_call_output with its call_id.";
    throw invalid(field, `No tool output found for function call ${id}. ${advice}`);
  }
  return sorted.map(({ entry }) => entry);
}

function messageOf(item: unknown, field: string): Message | undefined {
  if (!isRecord(item)) throw invalid(field, `${field} must be an object.`);
  // Messages and references may omit their type.
  const isReference = fieldOf(item, "role") === undefined && fieldOf(item, "id") !== undefined;
  const type = fieldOf(item, "type") ?? (isReference ? "item_reference" : "message");
  const [, read] = Object.entries(READERS).find(([name]) => name === type) ?? [];
  if (read) return read(item, field);
  const advice =
    "Send only items of type message, function_call, function_call_output and reasoning.";
  throw invalid(`${field}.type`, `${field} has the type ${JSON.stringify(type)}. ${advice}`);
}

/** The assistant's last message with the next one's calls, or with its answer after reasoning. */
function joined(last: Message | undefined, next: Message): Message | undefined {
  if (last?.role !== "assistant" || next.role !== "assistant") return undefined;
  const { tool_calls: calls = [] } = last;
  if (next.tool_calls) return { ...last, tool_calls: [...calls, ...next.tool_calls] };
  const isOpen = last.reasoning_content !== undefined && last.content === "" && calls.length === 0;
  return isOpen && next.reasoning_content === undefined
    ? { ...last, content: next.content }
    : undefined;
}

function stringOf(body: Body, name: string, parent = ""): string {
  const value = fieldOf(body, name);
  const path = parent ? `${parent}.${name}` : name;
  if (typeof value === "string") return value;
  throw invalid(path, `${path} must be a string.`);
}

function textsOf(item: Body, name: string, parent: string): string | TextPart[] {
  const value = fieldOf(item, name);
  const path = `${parent}.${name}`;
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw invalid(path, `${path} must be a string, or a list of parts.`);
  return value.map((part: unknown, at) => {
    const { type, text } = isRecord(part) ? part : {};
    if (TEXT_PARTS.includes(type) && typeof text === "string") return { type: "text", text };
    const problem = `${path}[${at}] has the type ${JSON.stringify(type ?? "?")}.`;
    const advice = "Send only texts, as parts of type input_text or output_text.";
    throw invalid(`${path}[${at}]`, `${problem} ${advice}`);
  });
}
