import { defined, isRecord } from "../../../protocol/isRecord.ts";
import { SYSTEM_KEYS } from "../../../protocol/system.ts";
import { fromJson } from "../notJson.ts";
import { type Field, CONTEXTS, HISTORY } from "./fields.ts";
import { INSTRUCTIONS, instructionOf, messagesOf, withTypes } from "./turns.ts";

/** Beside a question, in whichever form. */
const BESIDE = ["tools", "chat_template_kwargs", ...SYSTEM_KEYS, ...INSTRUCTIONS];

/** Fields that may be lists of messages. */
export const CONVERSED = new Set<Field>(["messages", "prompt", "completion", "chosen", "rejected"]);

export function besideOf(names: readonly string[]): string[] {
  return BESIDE.filter((name) => names.includes(name));
}

/** What belongs to a question, and would be lost with another form. */
export function lostOf(names: readonly string[], reads: readonly string[]): string[] {
  return [...CONTEXTS, HISTORY].filter((name) => names.includes(name) && !reads.includes(name));
}

/** Tools and the system's text as rows of Kit have them. */
export function besideIn(
  record: Record<string, unknown>,
  names: readonly string[],
  where: string,
): Record<string, unknown> {
  const read = names.map((name) => {
    if (name === "tools") return [name, toolsOf(record[name], where, name)] as const;
    if (name === "chat_template_kwargs") {
      return [name, fromJson(record[name], where, name, "an object")] as const;
    }
    const isGemini = INSTRUCTIONS.includes(name);
    const text = isGemini ? instructionOf(record[name], where, name) : record[name];
    return [isGemini ? "system" : name, withTypes(text)] as const;
  });
  return defined(Object.fromEntries(read));
}

export function fieldsIn(
  record: Record<string, unknown>,
  fields: readonly Field[],
  where: string,
): Record<string, unknown> {
  const read = fields.map((field) => [field, fieldOf(field, record[field], where, field)] as const);
  return defined(Object.fromEntries(read));
}

export function fieldOf(field: Field, value: unknown, where: string, column: string): unknown {
  if (field === "tools") return toolsOf(value, where, column);
  if (!CONVERSED.has(field)) return value;
  const isJson = field === "messages" || isJsonList(value);
  const read = isJson ? fromJson(value, where, column, "a list of messages") : value;
  return conversationOf(field, read, where, column);
}

export function conversationOf(
  field: Field,
  value: unknown,
  where: string,
  column: string,
): unknown {
  // LLaMA-Factory's better and worse answers are a message each.
  const isMessage = isRecord(value) && (field === "chosen" || field === "rejected");
  // A model may be to answer with such a text.
  const isText = field !== "completion" && isJsonList(value);
  const read = isText ? fromJson(value, where, column, "a list of messages") : value;
  return messagesOf(isMessage ? [value] : read, where, column);
}

/** A list as JSON text, or as Python prints it. */
function isJsonList(value: unknown): boolean {
  return typeof value === "string" && MESSAGES_TEXT.test(value);
}

const MESSAGES_TEXT = /^\s*\[\s*\{\s*(["'])(?:role|from|content|value)\1\s*:/;

/**
 * A row's tools as OpenAI describes them: from JSON text, and where a tool lacks its
 * `{"type":"function"}` around it.
 * @returns undefined without any
 * @throws KitError `DATASET_INVALID` for a text that is not JSON
 */
function toolsOf(value: unknown, where: string, column: string): unknown {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const read = (one: unknown) => fromJson(one, where, column, "a list of tools");
  const tools = read(value);
  return Array.isArray(tools) ? tools.map((tool) => wrapped(read(tool))) : tools;
}

function wrapped(tool: unknown): unknown {
  if (!isRecord(tool)) return tool;
  const { type, ...rest } = tool;
  if (type !== undefined && type !== null && type !== "function") return tool;
  if (isRecord(rest["function"])) return type === "function" ? tool : { type: "function", ...rest };
  return typeof rest["name"] === "string" ? { type: "function", function: rest } : tool;
}
