import {
  type ChatMessage,
  type TextPart,
  type ToolCall,
  argumentsOf,
} from "../../../protocol/chat.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { invalid } from "../apiError.ts";
import { type Body, fieldOf } from "../fields.ts";

/** A conversation, and the request's field that each message comes from. */
interface InputMessages {
  messages: ChatMessage[];
  names: Record<string, string>;
}

/** An assistant's message that later items can extend. */
interface AssistantMessage extends ChatMessage {
  reasoning_content?: string;
  tool_calls?: ToolCall[];
}

const ROLES: unknown[] = ["system", "developer", "user", "assistant"];
const TEXT_PARTS: unknown[] = ["input_text", "output_text", "reasoning_text", "summary_text"];

/**
 * Reads `instructions` and `input` as a conversation.
 * @throws ApiError 400 naming the invalid field
 */
export function inputMessages(body: Body): InputMessages {
  const messages: ChatMessage[] = [];
  const names: Record<string, string> = { messages: "input" };
  let open: AssistantMessage | undefined;

  function add<Added extends ChatMessage>(message: Added, field: string): Added {
    names[`messages[${messages.length}]`] = field;
    messages.push(message);
    open = undefined;
    return message;
  }

  /** Calls, and an answer after its reasoning, extend the open message. */
  function assistantMessage(field: string, extend = true): AssistantMessage {
    const extended = extend ? open : undefined;
    open = extended ?? add<AssistantMessage>({ role: "assistant", content: null }, field);
    return open;
  }

  function addItem(item: unknown, field: string): void {
    if (!isRecord(item)) throw invalid(field, `${field} must be an object.`);
    const type = typeOf(item);
    switch (type) {
      case "message": {
        const role = fieldOf(item, "role");
        if (!ROLES.includes(role)) {
          throw invalid(
            `${field}.role`,
            `${field}.role must be system, developer, user or assistant.`,
          );
        }
        const content = textsOf(item, "content", field);
        if (role !== "assistant")
          return void add({ role: role as ChatMessage["role"], content }, field);
        assistantMessage(field, open?.content === "" && !open.tool_calls).content = content;
        return;
      }
      case "function_call": {
        const call = callOf(item, field);
        const message = assistantMessage(field);
        message.tool_calls = [...(message.tool_calls ?? []), call];
        return;
      }
      case "function_call_output": {
        const tool_call_id = stringOf(item, "call_id", field);
        return void add(
          { role: "tool", tool_call_id, content: textsOf(item, "output", field) },
          field,
        );
      }
      case "reasoning": {
        const reasoning = reasoningOf(item, field);
        if (reasoning !== "")
          Object.assign(assistantMessage(field, false), {
            content: "",
            reasoning_content: reasoning,
          });
        return;
      }
      case "item_reference":
        throw invalid(
          field,
          `${field} refers to an item, but kit serve stores none. Send the item itself, as the AI SDK does with store: false.`,
        );
      default:
        throw invalid(
          `${field}.type`,
          `${field} has the type ${JSON.stringify(type)}. Send only items of type message, function_call, function_call_output and reasoning.`,
        );
    }
  }

  const instructions = fieldOf(body, "instructions");
  if (instructions !== undefined) {
    add({ role: "system", content: stringOf(body, "instructions") }, "instructions");
  }
  const input = fieldOf(body, "input");
  if (typeof input === "string") add({ role: "user", content: input }, "input");
  else if (Array.isArray(input)) input.forEach((item, at) => addItem(item, `input[${at}]`));
  if (messages.every((_, at) => names[`messages[${at}]`] === "instructions")) {
    throw invalid("input", "input must be a text, or a list of at least one message.");
  }
  return { messages, names };
}

/** Messages and references may omit their type. */
function typeOf(item: Body): unknown {
  const isReference = fieldOf(item, "role") === undefined && fieldOf(item, "id") !== undefined;
  return fieldOf(item, "type") ?? (isReference ? "item_reference" : "message");
}

function callOf(item: Body, field: string): ToolCall {
  const given = fieldOf(item, "arguments");
  if (typeof given !== "string" || argumentsOf(given) === undefined) {
    throw invalid(`${field}.arguments`, `${field}.arguments must be the text of a JSON object.`);
  }
  const [id, name] = [stringOf(item, "call_id", field), stringOf(item, "name", field)];
  return { id, type: "function", function: { name, arguments: given } };
}

function stringOf(body: Body, name: string, parent?: string): string {
  const value = fieldOf(body, name);
  const path = parent === undefined ? name : `${parent}.${name}`;
  if (typeof value === "string") return value;
  throw invalid(path, `${path} must be a string.`);
}

/** A string, or a list of text parts. */
function textsOf(item: Body, name: string, parent: string): string | TextPart[] {
  const value = fieldOf(item, name);
  const path = `${parent}.${name}`;
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw invalid(path, `${path} must be a text, or a list of parts.`);
  return value.map((part: unknown, at) => {
    const { type, text } = isRecord(part) ? part : {};
    if (TEXT_PARTS.includes(type) && typeof text === "string") return { type: "text", text };
    throw invalid(
      `${path}[${at}]`,
      `${path}[${at}] has the type ${JSON.stringify(type ?? "?")}. Send only texts, as parts of type input_text or output_text.`,
    );
  });
}

/** The reasoning's text, which chat templates read beside the answer; empty for none. */
function reasoningOf(item: Body, field: string): string {
  const parts = ["content", "summary"].map((name) =>
    fieldOf(item, name) === undefined ? [] : textsOf(item, name, field),
  );
  const found = parts.find(({ length }) => length > 0) ?? "";
  if (typeof found !== "string") return found.map(({ text }) => text).join("\n");
  if (found === "" && fieldOf(item, "encrypted_content") !== undefined) {
    throw invalid(
      `${field}.encrypted_content`,
      `${field} has encrypted reasoning, which only its server reads. Leave the item out.`,
    );
  }
  return found;
}
