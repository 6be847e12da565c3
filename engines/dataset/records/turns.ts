import { ROLE_NAMES } from "../../../protocol/chat.ts";
import { problemOfMessage } from "../../../protocol/chatFaults.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { parseJson } from "../../../protocol/json.ts";
import { invalid } from "../tables/tableRow.ts";

type Turn = Record<string, unknown>;

/** Roles of tool calls in LLaMA-Factory and ms-swift. */
const CALLERS = ["function_call", "tool_call"];
const ROLES = new Set(["system", "developer", "user", "assistant", "tool"]);

/**
 * Converts turns to OpenAI's messages: ShareGPT's `from` and `value`, other names of roles, tool calls
 * as turns of their own, parts without a type. Leaves anything else for `parse` to refuse.
 * @param name the column, for errors
 * @throws KitError `DATASET_INVALID` for an invalid call
 */
export function messagesOf(turns: unknown, where: string, name: string): unknown {
  if (!Array.isArray(turns) || turns.every(isMessage)) return turns;
  const messages: unknown[] = [];
  let wasCall = false;
  for (const [at, turn] of (turns as unknown[]).entries()) {
    const isCall = isRecord(turn) && CALLERS.includes(String(turn["from"] ?? turn["role"]));
    const message = isRecord(turn) ? messageOf(turn, isCall, where, `${name}[${at}]`) : turn;
    const last = messages.at(-1);
    // Parallel calls share one message, as in OpenAI and ms-swift.
    if (isCall && wasCall && isRecord(last) && isRecord(message)) {
      const calls = [last, message].flatMap(({ tool_calls: some }) => some as object[]);
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
  for (const [at, message] of messages.entries()) {
    const problem = problemOfMessage(message);
    if (problem !== undefined) throw invalid(where, `${name}[${at}] ${problem}.`);
  }
}

function isMessage(turn: unknown): boolean {
  if (!isRecord(turn) || !ROLES.has(turn["role"] as string) || isSet(turn["from"])) return false;
  return !Array.isArray(turn["content"]) && !isSet(turn["value"]);
}

function messageOf(turn: Turn, isCall: boolean, where: string, at: string): unknown {
  const { from, value, role, content, ...rest } = turn;
  const isShareGpt = isSet(from) || isSet(value);
  const [speaker, said] = [from ?? role, value ?? content];
  if (isShareGpt && (typeof speaker !== "string" || !isSet(said))) {
    throw invalid(where, `${at} needs a "from" and a "value" string.`);
  }
  if (isCall) return { role: "assistant", ...callsOf(said, where, at), ...rest };
  return { role: roleOf(speaker, isShareGpt), content: withTypes(said), ...rest };
}

function roleOf(speaker: unknown, isShareGpt: boolean): unknown {
  if (typeof speaker !== "string") return speaker;
  const name = speaker.toLowerCase();
  if (ROLES.has(name)) return name;
  // In OpenAI's format, `parse` refuses this role and names its replacement.
  if (isShareGpt && name === "function") return "tool";
  return ROLE_NAMES.get(name) ?? speaker;
}

/** A turn of tool calls as LLaMA-Factory reads it: an object or a list in JSON, possibly after thinking. */
function callsOf(said: unknown, where: string, at: string): Turn {
  const text = typeof said === "string" ? said : "";
  const [thought = ""] = /<think>[\s\S]*?<\/think>/.exec(text) ?? [];
  const rest = text.replace(thought, "");
  const [, wrapped = rest] = /^\s*<tool_call>([\s\S]*)<\/tool_call>\s*$/.exec(rest) ?? [];
  const given = typeof said === "string" ? parsed(wrapped) : said;
  const calls = (Array.isArray(given) ? given : [given]).map((call: unknown) => {
    const called = isRecord(call) && isRecord(call["function"]) ? call["function"] : call;
    if (!isRecord(called) || typeof called["name"] !== "string") {
      throw invalid(
        where,
        `${at} is not a tool call. Write {"name":"…","arguments":{…}}, or a list of these.`,
      );
    }
    const { name, arguments: values = {} } = called;
    return { type: "function", function: { name, arguments: values } };
  });
  return { content: thought === "" ? undefined : thought, tool_calls: calls };
}

function parsed(text: string): unknown {
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
 * Converts Gemini's turns to ShareGPT's.
 * @throws KitError `DATASET_INVALID` for anything but text
 */
export function geminiTurns(contents: unknown, where: string): unknown {
  if (!Array.isArray(contents)) return contents;
  return contents.map((content: unknown, at) => {
    if (!isRecord(content)) return content;
    const { role, parts, ...rest } = content;
    return { role, content: textsOf(parts, where, `${CONTENTS}[${at}]`), ...rest };
  });
}

/** Gemini's system prompt, or the value unchanged. */
export function instructionOf(instruction: unknown, where: string, name: string): unknown {
  return isRecord(instruction) ? textsOf(instruction["parts"], where, name) : instruction;
}

function textsOf(parts: unknown, where: string, at: string): unknown {
  if (!Array.isArray(parts)) throw invalid(where, `${at} needs "parts", a list of {"text":"…"}.`);
  for (const part of parts as unknown[]) {
    const other = isRecord(part) ? Object.keys(part).find((key) => key !== "text") : "?";
    if (other === undefined) continue;
    throw invalid(where, `${at} has a part ${JSON.stringify(other)}, ${TEXT_ONLY}.`);
  }
  return parts;
}
