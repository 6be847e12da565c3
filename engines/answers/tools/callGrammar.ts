import type { Tool } from "../../../protocol/chat.ts";
import { KitError } from "../../../protocol/error.ts";
import type { InferRequest, JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import type { Expression, Expressions } from "../grammar/expressions.ts";
import { schemaGrammar } from "../grammar/schemaGrammar.ts";
import type { ToolForm } from "./toolForm.ts";

/** Limit of calls in one answer. */
const MOST_CALLS = 16;

/**
 * Calls of tools, as a chat template writes them, with arguments that the tools' schemas allow.
 * @param isOne whether it is one call. Default: one or more
 * @throws KitError `REQUEST_INVALID` as `schemaGrammar` does, and if a tool's parameters do not describe an object
 */
export function callGrammar(
  of: Expressions,
  { begin, separator, end, around }: ToolForm,
  tools: readonly Tool[],
  isOne = false,
): Expression {
  const [before, between, behind] = around;
  const call = of.either(
    ...tools.map(({ function: { name, parameters } }, i) =>
      of.sequence(
        of.text(before + JSON.stringify(name).slice(1, -1) + between),
        argumentsGrammar(of, name, parameters, `tool ${i}`),
        of.text(behind),
      ),
    ),
  );
  const more =
    separator === undefined || isOne
      ? of.empty
      : of.repeat(of.sequence(of.text(separator), call), 0, MOST_CALLS - 1);
  return of.sequence(of.text(begin), call, more, of.text(end));
}

/** A tool without parameters takes no arguments. */
function argumentsGrammar(of: Expressions, name: string, parameters: unknown, scope: string) {
  const { length } = Object.keys(parameters ?? {});
  return length === 0 ? of.text("{}") : schemaGrammar(of, objectOf(name, parameters), scope);
}

/** Whether an answer to a request has one call at most. */
export function hasOneCall({
  toolChoice,
  parallelToolCalls = true,
}: Partial<InferRequest>): boolean {
  return !parallelToolCalls || typeof toolChoice === "object";
}

/** A call's arguments are an object, whatever else the parameters allow. */
function objectOf(name: string, parameters: unknown): JsonSchema {
  const { type = "object" } = isRecord(parameters) ? parameters : { type: "none" };
  const isObject = Array.isArray(type) ? type.includes("object") : type === "object";
  if (isRecord(parameters) && isObject) return { ...parameters, type: "object" };
  throw new KitError(
    "REQUEST_INVALID",
    `infer: tools must have "parameters" that are the schema of an object, but those of ${JSON.stringify(name)} are not. Write {"type":"object","properties":{…}}.`,
  );
}
