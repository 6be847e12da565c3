import type { Tool } from "../../../protocol/chat.ts";
import { KitError } from "../../../protocol/error.ts";
import type { InferRequest, JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { withFault } from "../fault.ts";
import type { Expression } from "../grammar/expression.ts";
import type { Expressions } from "../grammar/expressions.ts";
import { schemaGrammar } from "../grammar/schemaGrammar.ts";
import type { ToolCallFormat } from "./toolCallFormat.ts";

/** Maximum calls in one answer. */
const MAX_CALLS = 16;

/**
 * Tool calls as a chat template writes them, with arguments that the tools' schemas allow.
 * @param onlyTool name of the only allowed tool. Default: any
 * @param singleCall whether to allow only one call. Default: one or more
 * @throws KitError `REQUEST_INVALID` naming the tool, if `schemaGrammar` throws or the parameters don't describe an object
 */
export function callGrammar(
  grammar: Expressions,
  { begin, separator, end, delimiters }: ToolCallFormat,
  tools: readonly Tool[],
  { onlyTool, singleCall = false }: { onlyTool?: string | undefined; singleCall?: boolean } = {},
): Expression {
  const [before, between, after] = delimiters;
  const call = grammar.either(
    ...tools.flatMap(({ function: { name, parameters } }, i) => {
      if (onlyTool !== undefined && name !== onlyTool) return [];
      const prefix = grammar.text(before + JSON.stringify(name).slice(1, -1) + between);
      return grammar.sequence(
        prefix,
        argumentsGrammar(grammar, parameters, i),
        grammar.text(after),
      );
    }),
  );
  const more =
    separator === undefined || singleCall
      ? grammar.empty
      : grammar.repeat(grammar.sequence(grammar.text(separator), call), 0, MAX_CALLS - 1);
  return grammar.sequence(grammar.text(begin), call, more, grammar.text(end));
}

/** A tool without parameters takes no arguments. @param index of the tool */
function argumentsGrammar(grammar: Expressions, parameters: unknown, index: number): Expression {
  if (Object.keys(parameters ?? {}).length === 0) return grammar.text("{}");
  const option = `tools[${index}]`;
  try {
    return schemaGrammar(grammar, objectSchema(parameters), option);
  } catch (error) {
    throw withFault(error, { option: `${option}.function.parameters` }, `${option}: `);
  }
}

/** Whether a request allows at most one call. */
export function allowsOneCallAtMost({
  toolChoice,
  parallelToolCalls = true,
}: Partial<InferRequest>): boolean {
  return !parallelToolCalls || typeof toolChoice === "object";
}

/** Restricts parameters to objects, whatever else they allow. */
function objectSchema(parameters: unknown): JsonSchema {
  const { type = "object" } = isRecord(parameters) ? parameters : { type: "none" };
  const isObject = Array.isArray(type) ? type.includes("object") : type === "object";
  if (isRecord(parameters) && isObject) return { ...parameters, type: "object" };
  throw new KitError(
    "REQUEST_INVALID",
    '"parameters" must be a JSON Schema of type "object", such as {"type":"object","properties":{…}}.',
  );
}
