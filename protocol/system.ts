import { type Message, asMessage } from "./chat.ts";
import { problemOfMessage } from "./chatFaults.ts";

/** Row keys that hold a system message outside the conversation. */
export const SYSTEM_KEYS = ["system", "system_prompt"] as const;

/** What is wrong with a row's system message; undefined if nothing is. */
export function problemOfSystem(
  row: Record<string, unknown>,
  messages: readonly Message[],
): string | undefined {
  const key = keyOf(row);
  if (key === undefined) return undefined;
  const message = messageOf(row[key]);
  if (problemOfMessage(message) !== undefined) return `"${key}" is not text`;
  const [first] = messages;
  if (!first || !isSystem(first) || first.content === asMessage(message).content) return undefined;
  return `both "${key}" and a message with role "${first.role}": remove one of them`;
}

/** The conversation with its row's system message first. */
export function withSystem<Of extends Message>(
  row: Record<string, unknown>,
  messages: readonly Of[],
): (Of | Message)[] {
  const key = keyOf(row);
  if (key === undefined || isSystem(messages[0])) return [...messages];
  return [asMessage(messageOf(row[key])), ...messages];
}

export function hasSystem(row: Record<string, unknown>): boolean {
  return keyOf(row) !== undefined;
}

function keyOf(row: Record<string, unknown>): string | undefined {
  return SYSTEM_KEYS.find((key) => !isBlank(row[key]));
}

function messageOf(content: unknown): Record<string, unknown> {
  return { role: "system", content };
}

function isSystem(message: Message | undefined): boolean {
  return message?.role === "system" || message?.role === "developer";
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && !value.trim());
}
