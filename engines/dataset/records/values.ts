import { omitUndefined, isRecord } from "../../../protocol/isRecord.ts";
import { SYSTEM_KEYS } from "../../../protocol/system.ts";
import { parseJsonCell } from "../jsonError.ts";
import { type Field, CONTEXTS, HISTORY } from "./fields.ts";
import { INSTRUCTIONS, instructionOf, messagesOf, withTypes } from "./turns.ts";

/** Columns that may accompany a question of any format. */
const EXTRAS = ["tools", "chat_template_kwargs", ...SYSTEM_KEYS, ...INSTRUCTIONS];

/** Fields that may hold messages. */
export const MESSAGE_FIELDS = new Set<Field>([
  "messages",
  "prompt",
  "completion",
  "chosen",
  "rejected",
]);

export function extrasOf(names: readonly string[]): string[] {
  return EXTRAS.filter((name) => names.includes(name));
}

/** Columns that may belong to the question but aren't read. */
export function unreadContexts(names: readonly string[], reads: readonly string[]): string[] {
  return [...CONTEXTS, HISTORY].filter((name) => names.includes(name) && !reads.includes(name));
}

/** Tools, template variables and system prompt in Kit's own format. */
export function extrasIn(
  record: Record<string, unknown>,
  names: readonly string[],
  where: string,
): Record<string, unknown> {
  const entries = names.map((name) => {
    if (name === "tools") return [name, toolsOf(record[name], where, name)] as const;
    if (name === "chat_template_kwargs") {
      return [name, parseJsonCell(record[name], where, name, "an object")] as const;
    }
    const isGemini = INSTRUCTIONS.includes(name);
    const text = isGemini ? instructionOf(record[name], where, name) : record[name];
    return [isGemini ? "system" : name, withTypes(text)] as const;
  });
  return omitUndefined(Object.fromEntries(entries));
}

export function fieldsIn(
  record: Record<string, unknown>,
  fields: readonly Field[],
  where: string,
): Record<string, unknown> {
  const entries = fields.map(
    (field) => [field, fieldOf(field, record[field], where, field)] as const,
  );
  return omitUndefined(Object.fromEntries(entries));
}

export function fieldOf(field: Field, value: unknown, where: string, column: string): unknown {
  if (field === "tools") return toolsOf(value, where, column);
  if (!MESSAGE_FIELDS.has(field)) return value;
  const isJson = field === "messages" || isJsonList(value);
  const parsed = isJson ? parseJsonCell(value, where, column, "a list of messages") : value;
  return conversationOf(field, parsed, where, column);
}

export function conversationOf(
  field: Field,
  value: unknown,
  where: string,
  column: string,
): unknown {
  // LLaMA-Factory writes chosen and rejected answers as one message each.
  const isMessage = isRecord(value) && (field === "chosen" || field === "rejected");
  // A completion may really be such text.
  const isText = field !== "completion" && isJsonList(value);
  const parsed = isText ? parseJsonCell(value, where, column, "a list of messages") : value;
  return messagesOf(isMessage ? [value] : parsed, where, column);
}

/** Whether a value is a list of messages as JSON text, or as Python prints it. */
function isJsonList(value: unknown): boolean {
  return typeof value === "string" && MESSAGES_TEXT.test(value);
}

const MESSAGES_TEXT = /^\s*\[\s*\{\s*(["'])(?:role|from|content|value)\1\s*:/;

/**
 * A row's tools in OpenAI's format: parses JSON text and adds a missing `{"type":"function"}`.
 * @returns undefined without any
 * @throws KitError `DATASET_INVALID` for text that isn't JSON
 */
function toolsOf(value: unknown, where: string, column: string): unknown {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const parse = (cell: unknown) => parseJsonCell(cell, where, column, "a list of tools");
  const tools = parse(value);
  return Array.isArray(tools) ? tools.map((tool) => withType(parse(tool))) : tools;
}

function withType(tool: unknown): unknown {
  if (!isRecord(tool)) return tool;
  const { type, ...rest } = tool;
  if (type !== undefined && type !== null && type !== "function") return tool;
  if (isRecord(rest["function"])) return type === "function" ? tool : { type: "function", ...rest };
  return typeof rest["name"] === "string" ? { type: "function", function: rest } : tool;
}
