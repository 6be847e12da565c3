import { ROLE_NAMES } from "../../../protocol/chat.ts";
import { problemOfMessage } from "../../../protocol/chatFaults.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { parseJson } from "../../../protocol/json.ts";
import { invalid } from "../tables/tableRow.ts";

type Turn = Record<string, unknown>;

/** Roles of tool calls in LLaMA-Factory and ms-swift. */
const CALL_ROLES = ["function_call", "tool_call"];
const ROLES = new Set(["system", "developer", "user", "assistant", "tool"]);

/**
 * Converts turns to OpenAI's messages: ShareGPT's `from` and `value`, other names of roles, tool calls
 * as turns of their own, parts without a type. Leaves anything else for the row format's `parse` to refuse.
 * @param name the column, for errors
 * @throws KitError `DATASET_INVALID` for an invalid call, or a turn without `from` or `value`
 */
export function messagesOf(turns: unknown, where: string, name: string): unknown {
  if (!Array.isArray(turns) || turns.every(isPlainMessage)) return turns;
  const messages: unknown[] = [];
  let wasCall = false;
  for (const [i, turn] of (turns as unknown[]).entries()) {
    const isCall = isRecord(turn) && CALL_ROLES.includes(String(turn["from"] ?? turn["role"]));
    const message = isRecord(turn) ? messageOf(turn, isCall, where, `${name}[${i}]`) : turn;
    const last = messages.at(-1);
    // Parallel calls share one message, as in OpenAI and ms-swift.
    if (isCall && wasCall && isRecord(last) && isRecord(message)) {
      const calls = [last, message].flatMap(({ tool_calls: calls }) => calls as object[]);
      messages[messages.length - 1] = { ...last, tool_calls: calls };
    } else messages.push(message);
    wasCall = isCall;
  }
  return messages;
}

/** Adds the type to text parts without one, such as Bedrock's. */
export function withTypes(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) =>
    isRecord(part) && typeof part["text"] === "string" && !isSet(part["type"])
      ? { ...part, type: "text" }
      : part,
  );
}

/**
 * Refuses invalid messages; errors name the column.
 * @throws KitError `DATASET_INVALID`
 */
export function checkMessages(messages: unknown, where: string, name: string): void {
  if (!Array.isArray(messages)) {
    throw invalid(where, `"${name}" is not a list. Write a list of {"role":"…","content":"…"}.`);
  }
  for (const [i, message] of messages.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) throw invalid(where, `${name}[${i}] ${problem}.`);
  }
}

function isPlainMessage(turn: unknown): boolean {
  if (!isRecord(turn) || !ROLES.has(turn["role"] as string) || isSet(turn["from"])) return false;
  return !Array.isArray(turn["content"]) && !isSet(turn["value"]);
}

function messageOf(turn: Turn, isCall: boolean, where: string, path: string): unknown {
  const { from, value, role, content, ...rest } = turn;
  const isShareGpt = isSet(from) || isSet(value);
  const [speaker, body] = [from ?? role, value ?? content];
  if (isShareGpt && (typeof speaker !== "string" || !isSet(body))) {
    throw invalid(where, `${path} needs "from", a string, and "value".`);
  }
  if (isCall) return { role: "assistant", ...callsOf(body, where, path), ...rest };
  return { role: roleOf(speaker, isShareGpt), content: withTypes(body), ...rest };
}

function roleOf(speaker: unknown, isShareGpt: boolean): unknown {
  if (typeof speaker !== "string") return speaker;
  const name = speaker.toLowerCase();
  if (ROLES.has(name)) return name;
  // In OpenAI's format, the row format's `parse` refuses this role and names its replacement.
  if (isShareGpt && name === "function") return "tool";
  return ROLE_NAMES.get(name) ?? speaker;
}

/** A turn of tool calls as LLaMA-Factory reads it: an object or a list in JSON, possibly after thinking. */
function callsOf(body: unknown, where: string, path: string): Turn {
  const text = typeof body === "string" ? body : "";
  const [thinking = ""] = /<think>[\s\S]*?<\/think>/.exec(text) ?? [];
  const rest = text.replace(thinking, "");
  const [, wrapped = rest] = /^\s*<tool_call>([\s\S]*)<\/tool_call>\s*$/.exec(rest) ?? [];
  const parsed = typeof body === "string" ? tryParse(wrapped) : body;
  const calls = (Array.isArray(parsed) ? parsed : [parsed]).map((call: unknown) => {
    const called = isRecord(call) && isRecord(call["function"]) ? call["function"] : call;
    if (!isRecord(called) || typeof called["name"] !== "string") {
      throw invalid(
        where,
        `${path} is not a tool call. Write {"name":"…","arguments":{…}}, or a list of these.`,
      );
    }
    const { name, arguments: values = {} } = called;
    return { type: "function", function: { name, arguments: values } };
  });
  return { content: thinking === "" ? undefined : thinking, tool_calls: calls };
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Columns of Gemini's messages and system prompt. */
export const CONTENTS = "contents";
export const INSTRUCTIONS = ["systemInstruction", "system_instruction"];

const TEXT_ONLY = "but Kit reads only text in Gemini's format: write messages in OpenAI's";

/**
 * Converts Gemini's `role` and `parts` to `role` and `content`, for `messagesOf`.
 * @throws KitError `DATASET_INVALID` for anything but text
 */
export function geminiTurns(contents: unknown, where: string): unknown {
  if (!Array.isArray(contents)) return contents;
  return contents.map((content: unknown, i) => {
    if (!isRecord(content)) return content;
    const { role, parts, ...rest } = content;
    return { role, content: textsOf(parts, where, `${CONTENTS}[${i}]`), ...rest };
  });
}

/** Gemini's system prompt, or the value unchanged. */
export function instructionOf(instruction: unknown, where: string, name: string): unknown {
  return isRecord(instruction) ? textsOf(instruction["parts"], where, name) : instruction;
}

function textsOf(parts: unknown, where: string, path: string): unknown {
  if (!Array.isArray(parts)) throw invalid(where, `${path} needs "parts", a list of {"text":"…"}.`);
  for (const part of parts as unknown[]) {
    const other = isRecord(part) ? Object.keys(part).find((key) => key !== "text") : "?";
    if (other === undefined) continue;
    throw invalid(where, `${path} has a part ${JSON.stringify(other)}, ${TEXT_ONLY}.`);
  }
  return parts;
}
