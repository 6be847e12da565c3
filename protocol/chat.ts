import { isRecord } from "./isRecord.ts";
import { JsonError, parseJson } from "./json.ts";
import { placeIn } from "./jsonProblem.ts";
import { isMarkedUnlearned, problemOfMarks } from "./learnedMarks.ts";

/** A part of a message's content. */
export interface TextPart {
  /** Kit reads text alone. */
  type: "text";
  /** The text. */
  text: string;
}

/** The assistant's call of a tool. */
export interface ToolCall {
  /** A tool's answer refers to it. Default: none. */
  id?: string;
  /** Default: `function`, the only kind. */
  type?: "function";
  /** What is called. */
  function: {
    /** The tool's. */
    name: string;
    /** JSON, as OpenAI writes it, or the object itself. */
    arguments: string | Record<string, unknown>;
  };
}

/** A tool that the assistant may call, as OpenAI describes it. */
export interface Tool {
  /** The only kind. */
  type: "function";
  /** What the model sees. */
  function: {
    /** The name to call it by. */
    name: string;
    /** What it does. Default: none. */
    description?: string;
    /** A JSON schema. Default: none. */
    parameters?: Record<string, unknown>;
    /** Written as it is. Default: none. */
    strict?: boolean;
  };
}

/** A message of a conversation, as OpenAI's API takes it. */
export interface ChatMessage {
  /** The speaker. Templates that don't know `developer` get `system`. */
  role: "system" | "developer" | "user" | "assistant" | "tool";
  /** What is said; may be empty. Default: none, beside `tool_calls` alone. */
  // eslint-disable-next-line no-restricted-syntax -- As OpenAI writes it.
  content?: string | null | readonly TextPart[];
  /** Tells speakers of one role apart. Default: none. */
  name?: string;
  /** The assistant's. Default: none. */
  tool_calls?: readonly ToolCall[];
  /** The call that a tool's message answers. Default: none. */
  tool_call_id?: string;
}

/** A message as chat templates take it. */
export interface Message {
  role: ChatMessage["role"];
  /** Undefined beside `tool_calls` alone. */
  content: string | undefined;
  tool_calls?: readonly ToolCall[];
  /** Of an answer that is not learned. */
  weight?: 0;
  [other: string]: unknown;
}

/** What a chat template gets beside messages. */
export interface TemplateInput {
  /** What the assistant may call. Default: none. */
  tools?: readonly Tool[];
  /** Variables of the template, such as `enable_thinking`, by their names there. Default: none. */
  chat_template_kwargs?: TemplateKwargs;
}

/** What a chat template writes. */
export interface Conversation extends TemplateInput {
  messages: readonly Message[];
}

/** Variables of a chat template by their names, as `apply_chat_template` of `transformers` takes them. */
export type TemplateKwargs = Readonly<Record<string, unknown>>;

/** What `apply_chat_template` takes for itself. */
const OWN_KWARGS = [
  ...["conversation", "messages", "tools", "chat_template", "add_generation_prompt"],
  ...["continue_final_message", "tokenize", "padding", "truncation", "max_length"],
  ...["return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs"],
];

/** Keys that chat templates of the field read as they are. */
const PASSED = ["name", "tool_call_id", "reasoning_content", "reasoning", "thinking"];
const ROLES: unknown[] = ["system", "developer", "user", "assistant", "tool"];
/** What other tools call the roles. */
export const ROLE_NAMES: ReadonlyMap<string, ChatMessage["role"]> = new Map([
  ["human", "user"],
  ["observation", "tool"],
  ["tool_response", "tool"],
  ...["gpt", "bot", "model", "chatbot", "chatgpt", "bing", "bard", "ai"].map(
    (name) => [name, "assistant"] as const,
  ),
]);
const NEEDED = 'needs a "role" (system, developer, user, assistant or tool) and a "content" string';

/** What is wrong, as the rest of a sentence, and where in it, such as `.tool_calls[0].function.arguments`. */
type Fault = readonly [problem: string, path: string];

/** What is wrong with a message; undefined for a good one. */
export function problemOfMessage(message: unknown): string | undefined {
  return faultOfMessage(message)?.[0];
}

export function faultOfMessage(message: unknown): Fault | undefined {
  if (!isRecord(message)) return [NEEDED, ""];
  const { role, content, tool_calls: calls } = message;
  if (role === "function" || isSet(message["function_call"])) {
    const problem =
      'has a "function_call", which OpenAI replaced: write "tool_calls", and its answer as role "tool"';
    return [problem, role === "function" ? ".role" : ".function_call"];
  }
  if (!ROLES.includes(role)) return [problemOfRole(role), ".role"];
  if (isSet(message["refusal"])) {
    return ['has a "refusal", which no chat template writes: write it as "content"', ".refusal"];
  }
  const isAnswer = role === "assistant";
  const wrongMark = isAnswer ? problemOfMarks(message) : undefined;
  if (wrongMark !== undefined) return [wrongMark, ""];
  const callCount = Array.isArray(calls) ? calls.length : 0;
  const wrongCalls = faultOfCalls(calls, isAnswer);
  if (wrongCalls) return wrongCalls;
  if (typeof content === "string" || (!isSet(content) && callCount > 0)) return undefined;
  if (!Array.isArray(content)) return [NEEDED, ".content"];
  const at = content.findIndex((one) => !isTextPart(one));
  if (at === -1) return undefined;
  const part: unknown = content[at];
  const path = `.content[${at}]`;
  const type = isRecord(part) ? (part["type"] ?? Object.keys(part)[0]) : undefined;
  if (isRecord(part) && part["type"] === "text")
    return ['has a part of type "text" whose "text" is not a string', `${path}.text`];
  const problem = `has a part of type ${JSON.stringify(type ?? "?")}, and Kit reads parts of type "text" alone`;
  return [problem, isRecord(part) ? `${path}.type` : path];
}

function problemOfRole(role: unknown): string {
  if (typeof role !== "string") return NEEDED;
  const meant = [role.toLowerCase(), ROLE_NAMES.get(role.toLowerCase())].find((one) =>
    ROLES.includes(one),
  );
  const choice = meant === undefined ? "system, developer, user, assistant or tool" : `"${meant}"`;
  return `has the role ${JSON.stringify(role)}: write ${choice}`;
}

function faultOfCalls(calls: unknown, isAnswer: boolean): Fault | undefined {
  if (!isSet(calls)) return undefined;
  if (!Array.isArray(calls)) return ['has "tool_calls" that are not a list', ".tool_calls"];
  if (calls.length > 0 && !isAnswer) {
    return ['has "tool_calls", which only the assistant makes', ".tool_calls"];
  }
  for (const [at, call] of calls.entries()) {
    const fault = faultOfCall(call);
    if (fault) return [fault[0], `.tool_calls[${at}]${fault[1]}`];
  }
  return undefined;
}

function faultOfCall(call: unknown): Fault | undefined {
  const { type, function: called } = isRecord(call) ? call : {};
  const wrong = wrongInFunction(call, type ?? "function");
  if (wrong !== undefined) {
    const form = '{"type":"function","function":{"name":"…","arguments":"{…}"}}';
    return [`has a call that is not ${form}`, wrong];
  }
  const { name, arguments: given } = called as { name: string; arguments: unknown };
  if (argumentsOf(given) !== undefined) return undefined;
  const problem = `has a call of ${name} with "arguments" that are not ${problemOfArguments(given)}`;
  return [problem, ".function.arguments"];
}

/** What is wrong in a tool or in the call of one, a path; undefined for one with a name. */
function wrongInFunction(one: unknown, type: unknown): string | undefined {
  if (!isRecord(one)) return "";
  if (type !== "function") return ".type";
  if (!isRecord(one["function"])) return ".function";
  return typeof one["function"]["name"] === "string" ? undefined : ".function.name";
}

function problemOfArguments(given: unknown): string {
  try {
    if (typeof given === "string") parseJson(given);
  } catch (error) {
    if (error instanceof JsonError) {
      const { column } = placeIn(given as string, error.offset);
      return `valid JSON at character ${column}: ${error.message.replace(/\.$/, "")}`;
    }
  }
  return "a JSON object";
}

/** A call's arguments as an object; undefined for others. No arguments are none. */
export function argumentsOf(given: unknown): Record<string, unknown> | undefined {
  if (!isSet(given) || given === "") return {};
  if (typeof given !== "string") return isRecord(given) ? given : undefined;
  try {
    const parsed = parseJson(given);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** What is wrong with variables of a chat template, after their name; undefined for good ones, or none. */
export function problemOfKwargs(kwargs: unknown): string | undefined {
  return faultOfKwargs(kwargs)?.[0];
}

export function faultOfKwargs(kwargs: unknown): Fault | undefined {
  if (!isSet(kwargs)) return undefined;
  if (!isRecord(kwargs)) return ['must be an object, such as {"enable_thinking":false}', ""];
  const { documents = [] } = kwargs;
  if (!Array.isArray(documents) || !documents.every(isRecord)) {
    return ['has "documents" that are not a list of {"title":"…","text":"…"}', ".documents"];
  }
  const own = OWN_KWARGS.find((name) => Object.hasOwn(kwargs, name));
  return own === undefined
    ? undefined
    : [`has ${JSON.stringify(own)}, which is no variable of a chat template`, `.${own}`];
}

/** What is wrong with a row's or a request's tools; undefined for good ones, or none. */
export function problemOfTools(row: Record<string, unknown>): string | undefined {
  return faultOfTools(row)?.[0];
}

export function faultOfTools({ tools, functions }: Record<string, unknown>): Fault | undefined {
  if (isFilled(functions)) {
    return ['"functions" were replaced by OpenAI: write them as "tools"', "functions"];
  }
  if (!isSet(tools)) return undefined;
  if (!Array.isArray(tools)) return ['"tools" is not a list', "tools"];
  for (const [at, tool] of tools.entries()) {
    const path = wrongInTool(tool);
    if (path === undefined) continue;
    const form = '{"type":"function","function":{"name":"…","parameters":{…}}}';
    return [`tools[${at}] is not ${form}`, `tools[${at}]${path}`];
  }
  return undefined;
}

function wrongInTool(tool: unknown): string | undefined {
  const wrong = wrongInFunction(tool, isRecord(tool) && tool["type"]);
  if (wrong !== undefined) return wrong;
  const { parameters } = (tool as Tool).function;
  return !isSet(parameters) || isRecord(parameters) ? undefined : ".function.parameters";
}

/** A good message as templates take it: a list of parts is a text, and what is null is not there. */
export function asMessage(message: ChatMessage | Record<string, unknown>): Message {
  const { role, content, tool_calls: calls } = message as Record<string, unknown>;
  const passed = PASSED.flatMap((key) => {
    const value = (message as Record<string, unknown>)[key];
    return isSet(value) ? [[key, value] as const] : [];
  });
  return {
    role: role as Message["role"],
    content: textOf(content as ChatMessage["content"]),
    ...(isFilled(calls) && { tool_calls: calls as ToolCall[] }),
    ...(role === "assistant" && isMarkedUnlearned(message) && { weight: 0 }),
    ...Object.fromEntries(passed),
  };
}

/** Whether a training learns a message. */
export function isLearned({ role, weight }: Message): boolean {
  return role === "assistant" && weight !== 0;
}

/** The tools; undefined without any. */
export function asTools(tools: unknown): readonly Tool[] | undefined {
  return isFilled(tools) ? (tools as Tool[]) : undefined;
}

/** Parts are lines. */
function textOf(content: ChatMessage["content"]): string | undefined {
  if (typeof content === "string") return content;
  return content?.map(({ text }) => text).join("\n");
}

function isTextPart(part: unknown): part is TextPart {
  return isRecord(part) && part["type"] === "text" && typeof part["text"] === "string";
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Libraries write an optional key without a value as null. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
