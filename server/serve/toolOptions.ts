import { type Tool, asTools } from "../../protocol/chat.ts";
import { faultOfTools } from "../../protocol/chatFaults.ts";
import type { ToolChoice } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { invalid } from "./apiError.ts";
import { type Body, fieldOf } from "./fields.ts";

/** Tools that an answer may call. */
export interface ToolOptions {
  tools?: readonly Tool[] | undefined;
  toolChoice?: ToolChoice | undefined;
  /** For errors: the request's path for each path of `infer`'s options that differs, such as `tools[0]`. */
  names?: Record<string, string>;
}

/**
 * @param parent where `tool_choice` has the function's name
 * @throws ApiError 400 naming the invalid field
 */
export function toolOptions(
  body: Body,
  tools: readonly Tool[] | undefined,
  parent: "function." | "",
): ToolOptions {
  const form = parent
    ? '{"type":"function","function":{"name":"…"}}'
    : '{"type":"function","name":"…"}';
  const choice = fieldOf(body, "tool_choice");
  if (choice === undefined || choice === "auto" || choice === "none") {
    return { tools, toolChoice: tools && choice };
  }
  if (choice === "required" && tools) return { tools, toolChoice: choice };
  if (isRecord(choice) && choice["type"] === "allowed_tools") return allowed(choice, tools, form);
  const name = isRecord(choice) && choice["type"] === "function" ? nameIn(choice) : undefined;
  if (name !== undefined && indexOf(name, tools) >= 0) return { tools, toolChoice: { name } };
  throw invalid(
    name === undefined ? "tool_choice" : `tool_choice.${parent}name`,
    `tool_choice must be "auto", "none" or, with tools, "required" or ${form} with the name of one of the tools.`,
  );
}

export function toolsOf(body: Body): readonly Tool[] | undefined {
  const tools = fieldOf(body, "tools");
  const [problem, path] = faultOfTools({ tools }) ?? [];
  if (path !== undefined) throw invalid(path, `${problem}. Send it in OpenAI's format.`);
  return asTools(tools);
}

/** Restricts the tools to `allowed_tools`: a model calls no tool that it does not see. */
function allowed(choice: Body, tools: readonly Tool[] | undefined, form: string): ToolOptions {
  const nested = fieldOf(choice, "allowed_tools");
  const path = nested === undefined ? "tool_choice" : "tool_choice.allowed_tools";
  const { mode, tools: listed } = isRecord(nested) ? nested : choice;
  if (mode !== "auto" && mode !== "required") {
    throw invalid(`${path}.mode`, `${path}.mode must be "auto" or "required".`);
  }
  const references: unknown[] = Array.isArray(listed) ? listed : [];
  const indexes = references.map((reference) => indexOf(nameIn(reference), tools));
  if (!tools || indexes.length === 0 || indexes.includes(-1)) {
    const unknown = indexes.indexOf(-1);
    throw invalid(
      `${path}.tools${unknown === -1 ? "" : `[${unknown}]`}`,
      `${path}.tools must be a list of ${form} with names of tools.`,
    );
  }
  const all = tools.flatMap((tool, at) => (indexes.includes(at) ? [{ tool, at }] : []));
  const names = all.map(({ at }, i) => [`tools[${i}]`, `tools[${at}]`] as const);
  return {
    tools: all.map(({ tool }) => tool),
    toolChoice: mode,
    names: Object.fromEntries(names),
  };
}

/** OpenAI's Responses API puts the name beside the type. */
function nameIn(reference: unknown): string | undefined {
  if (!isRecord(reference)) return undefined;
  const { name } = isRecord(reference["function"]) ? reference["function"] : reference;
  return typeof name === "string" ? name : undefined;
}

function indexOf(name: string | undefined, tools: readonly Tool[] = []): number {
  return tools.findIndex((tool) => tool.function.name === name);
}
