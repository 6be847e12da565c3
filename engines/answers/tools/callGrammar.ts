import type { Tool } from "../../../protocol/chat.ts";
import { KitError } from "../../../protocol/error.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import type { Expression, Expressions } from "../grammar/expressions.ts";
import { schemaGrammar } from "../grammar/schemaGrammar.ts";
import type { ToolForm } from "./toolForm.ts";

/** Limit of calls in one answer. */
const MOST_CALLS = 16;

/**
 * Calls of tools, one or more, as a chat template writes them, with arguments that the tools' schemas allow.
 * @throws KitError `REQUEST_INVALID` as `schemaGrammar` does, and if a tool's parameters do not describe an object
 */
export function callGrammar(
  of: Expressions,
  { begin, separator, end, around }: ToolForm,
  tools: readonly Tool[],
): Expression {
  const [before, between, behind] = around;
  const call = of.either(
    ...tools.map(({ function: { name, parameters } }, i) =>
      of.sequence(
        of.text(before + JSON.stringify(name).slice(1, -1) + between),
        schemaGrammar(of, objectOf(name, parameters ?? {}), `tool ${i}`),
        of.text(behind),
      ),
    ),
  );
  const more =
    separator === undefined
      ? of.empty
      : of.repeat(of.sequence(of.text(separator), call), 0, MOST_CALLS - 1);
  return of.sequence(of.text(begin), call, more, of.text(end));
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
