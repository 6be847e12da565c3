import { isRecord } from "../../protocol/isRecord.ts";

type Request = Record<string, unknown>;

/** Limits of stop texts, and of each one's characters. */
const MAX_STOPS = 16;
const MAX_STOP_LENGTH = 1000;
/** Limits of choices, and of all their characters. */
const MAX_CHOICES = 1000;
const MAX_CHOICES_LENGTH = 65_536;

/** The first invalid answer option: its problem, and the option. */
export function problemOfAnswer(request: Request): [problem: string, option: string] | undefined {
  for (const [option, find] of PROBLEMS) {
    const found = find(request);
    if (found !== undefined) return [found, option];
  }
  return undefined;
}

const PROBLEMS: readonly [option: string, find: (request: Request) => string | undefined][] = [
  ["stop", problemOfStop],
  ["choices", problemOfChoices],
  ["pattern", problemOfPattern],
  ["toolChoice", problemOfToolChoice],
  ["parallelToolCalls", problemOfParallelCalls],
  ["choices", problemOfMix],
];

function problemOfStop({ stop }: Request): string | undefined {
  if (stop === undefined) return undefined;
  const stops: unknown[] = Array.isArray(stop) ? stop : [stop];
  const isValid = (text: unknown) =>
    typeof text === "string" && text.length > 0 && text.length <= MAX_STOP_LENGTH;
  if (stops.length <= MAX_STOPS && stops.every(isValid)) return undefined;
  return `stop must be a string of 1 to ${MAX_STOP_LENGTH} characters, or an array of up to ${MAX_STOPS}`;
}

function problemOfChoices({ choices }: Request): string | undefined {
  if (choices === undefined) return undefined;
  const texts: unknown[] = Array.isArray(choices) ? choices : [];
  const isValid = (text: unknown) => typeof text === "string" && text.length > 0;
  const isList = texts.length > 0 && texts.length <= MAX_CHOICES && texts.every(isValid);
  if (!isList || new Set(texts).size < texts.length) {
    return `choices must be 1 to ${MAX_CHOICES} different strings that are not empty`;
  }
  if (texts.join("").length <= MAX_CHOICES_LENGTH) return undefined;
  return `choices may have up to ${MAX_CHOICES_LENGTH} characters in all`;
}

function problemOfPattern({ pattern }: Request): string | undefined {
  if (pattern === undefined || (typeof pattern === "string" && pattern !== "")) return undefined;
  return "pattern must be a regular expression, as a string";
}

function problemOfToolChoice({ tools, toolChoice }: Request): string | undefined {
  if (toolChoice === undefined) return undefined;
  const name = isRecord(toolChoice) ? toolChoice["name"] : undefined;
  const words: unknown[] = ["auto", "none", "required"];
  if (!words.includes(toolChoice) && typeof name !== "string") {
    return 'toolChoice must be "auto", "none", "required" or { name }';
  }
  if (toolChoice === "auto" || toolChoice === "none") return undefined;
  const names = (Array.isArray(tools) ? tools : []).map(
    (tool: { function: { name: string } }) => tool.function.name,
  );
  if (name === undefined) {
    return names.length > 0 ? undefined : 'toolChoice "required" needs tools';
  }
  if (names.includes(name as string)) return undefined;
  const known = names.length > 0 ? `: ${names.join(", ")}` : "";
  return `toolChoice names ${JSON.stringify(name)}, which is not one of the tools${known}`;
}

function problemOfParallelCalls({ parallelToolCalls }: Request): string | undefined {
  const isValid = parallelToolCalls === undefined || typeof parallelToolCalls === "boolean";
  return isValid ? undefined : "parallelToolCalls must be true or false";
}

/** These options exclude each other. */
function problemOfMix({ stop, choices, schema, pattern, toolChoice }: Request): string | undefined {
  const requiresCall = toolChoice === "required" || isRecord(toolChoice);
  const given = [
    ...(choices === undefined ? [] : ["choices"]),
    ...(schema === undefined ? [] : ["a schema"]),
    ...(pattern === undefined ? [] : ["a pattern"]),
    ...(requiresCall ? ["a toolChoice that requires a call"] : []),
  ];
  if (given.length > 1) return `pass ${given.join(" or ")}, not both`;
  if (choices === undefined || stop === undefined) return undefined;
  return "pass choices or stop, not both";
}
