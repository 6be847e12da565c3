import {
  type TextPart,
  type Tool,
  ROLE_NAMES,
  argumentsOf,
  isNonEmptyArray,
  isSet,
} from "./chat.ts";
import { isRecord } from "./isRecord.ts";
import { JsonError, parseJson } from "./json.ts";
import { positionIn } from "./jsonProblem.ts";
import { problemOfMarks } from "./learnedMarks.ts";

/** Parameters of `apply_chat_template` itself. */
const RESERVED_KWARGS = [
  "conversation",
  "messages",
  "tools",
  "chat_template",
  "add_generation_prompt",
  "continue_final_message",
  "tokenize",
  "padding",
  "truncation",
  "max_length",
  "return_tensors",
  "return_dict",
  "return_assistant_tokens_mask",
  "tokenizer_kwargs",
];

const ROLES: unknown[] = ["system", "developer", "user", "assistant", "tool"];
const NEEDS = 'needs a "role" (system, developer, user, assistant or tool) and a "content" string';

/** The problem, as the rest of a sentence, and its path, such as `.tool_calls[0].function.arguments`. */
type Fault = readonly [problem: string, path: string];

/** What is wrong with a message; undefined for a good one. */
export function problemOfMessage(message: unknown): string | undefined {
  return faultOfMessage(message)?.[0];
}

export function faultOfMessage(message: unknown): Fault | undefined {
  if (!isRecord(message)) return [NEEDS, ""];
  const { role, content, tool_calls: calls } = message;
  if (role === "function" || isSet(message["function_call"])) {
    const problem =
      'has a "function_call", which OpenAI replaced: write "tool_calls", and the result as role "tool"';
    return [problem, role === "function" ? ".role" : ".function_call"];
  }
  if (!ROLES.includes(role)) return [problemOfRole(role), ".role"];
  if (isSet(message["refusal"])) {
    return ['has a "refusal", which no chat template renders: write it as "content"', ".refusal"];
  }
  const isAssistant = role === "assistant";
  const marksProblem = isAssistant ? problemOfMarks(message) : undefined;
  if (marksProblem !== undefined) return [marksProblem, ""];
  const callCount = Array.isArray(calls) ? calls.length : 0;
  const callsFault = faultOfCalls(calls, isAssistant);
  if (callsFault) return callsFault;
  if (typeof content === "string" || (!isSet(content) && callCount > 0)) return undefined;
  if (!Array.isArray(content)) return [NEEDS, ".content"];
  const at = content.findIndex((part) => !isTextPart(part));
  if (at === -1) return undefined;
  const part: unknown = content[at];
  const path = `.content[${at}]`;
  const type = isRecord(part) ? (part["type"] ?? Object.keys(part)[0]) : undefined;
  if (isRecord(part) && part["type"] === "text")
    return ['has a part of type "text" whose "text" is not a string', `${path}.text`];
  const problem = `has a part of type ${JSON.stringify(type ?? "?")}; Kit reads only parts of type "text"`;
  return [problem, isRecord(part) ? `${path}.type` : path];
}

function problemOfRole(role: unknown): string {
  if (typeof role !== "string") return NEEDS;
  const match = [role.toLowerCase(), ROLE_NAMES.get(role.toLowerCase())].find((name) =>
    ROLES.includes(name),
  );
  const choice = match === undefined ? "system, developer, user, assistant or tool" : `"${match}"`;
  return `has the role ${JSON.stringify(role)}: write ${choice}`;
}

function faultOfCalls(calls: unknown, isAssistant: boolean): Fault | undefined {
  if (!isSet(calls)) return undefined;
  if (!Array.isArray(calls)) return ['has "tool_calls" that are not a list', ".tool_calls"];
  if (calls.length > 0 && !isAssistant) {
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
  const path = pathOfFault(call, type ?? "function");
  if (path !== undefined) {
    const form = '{"type":"function","function":{"name":"…","arguments":"{…}"}}';
    return [`has a call that is not ${form}`, path];
  }
  const { name, arguments: rawArguments } = called as { name: string; arguments: unknown };
  if (argumentsOf(rawArguments) !== undefined) return undefined;
  const problem = `has a call to ${name} with "arguments" that are not ${problemOfArguments(rawArguments)}`;
  return [problem, ".function.arguments"];
}

/** The path of what is wrong in a tool or a tool call; undefined if it names a function. */
function pathOfFault(value: unknown, type: unknown): string | undefined {
  if (!isRecord(value)) return "";
  if (type !== "function") return ".type";
  if (!isRecord(value["function"])) return ".function";
  return typeof value["function"]["name"] === "string" ? undefined : ".function.name";
}

function problemOfArguments(rawArguments: unknown): string {
  try {
    if (typeof rawArguments === "string") parseJson(rawArguments);
  } catch (error) {
    if (error instanceof JsonError) {
      const { column } = positionIn(rawArguments as string, error.offset);
      return `valid JSON at character ${column}: ${error.message.replace(/\.$/, "")}`;
    }
  }
  return "a JSON object";
}

/** What is wrong with a chat template's variables, as the rest of a sentence; undefined if nothing is. */
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
  const reserved = RESERVED_KWARGS.find((name) => Object.hasOwn(kwargs, name));
  return reserved === undefined
    ? undefined
    : [`has ${JSON.stringify(reserved)}, which is not a chat template variable`, `.${reserved}`];
}

/** What is wrong with a row's or a request's tools; undefined if nothing is. */
export function problemOfTools(row: Record<string, unknown>): string | undefined {
  return faultOfTools(row)?.[0];
}

export function faultOfTools({ tools, functions }: Record<string, unknown>): Fault | undefined {
  if (isNonEmptyArray(functions)) {
    return ['OpenAI replaced "functions": write them as "tools"', "functions"];
  }
  if (!isSet(tools)) return undefined;
  if (!Array.isArray(tools)) return ['"tools" is not a list', "tools"];
  for (const [at, tool] of tools.entries()) {
    const path = pathOfToolFault(tool);
    if (path === undefined) continue;
    const form = '{"type":"function","function":{"name":"…","parameters":{…}}}';
    return [`tools[${at}] is not ${form}`, `tools[${at}]${path}`];
  }
  return undefined;
}

function pathOfToolFault(tool: unknown): string | undefined {
  const path = pathOfFault(tool, isRecord(tool) && tool["type"]);
  if (path !== undefined) return path;
  const { parameters } = (tool as Tool).function;
  return !isSet(parameters) || isRecord(parameters) ? undefined : ".function.parameters";
}

function isTextPart(part: unknown): part is TextPart {
  return isRecord(part) && part["type"] === "text" && typeof part["text"] === "string";
}
