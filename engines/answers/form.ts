import type { Tool } from "../../protocol/chat.ts";
import type { InferRequest, JsonSchema } from "../../protocol/infer.ts";
import type { Expression } from "./grammar/expression.ts";
import type { Expressions } from "./grammar/expressions.ts";
import { textPattern } from "./grammar/pattern.ts";
import { schemaGrammar } from "./grammar/schemaGrammar.ts";
import { callGrammar } from "./tools/callGrammar.ts";
import type { ToolCallFormat } from "./tools/toolCallFormat.ts";

/**
 * A constraint: a schema or a pattern, tool calls, or a choice of both. Plain JSON, so that Python can compile it, too.
 */
export interface Form extends Pick<InferRequest, "schema" | "pattern"> {
  calls?: {
    form: ToolCallFormat;
    tools: readonly Tool[];
    only?: string | undefined;
    singleCall: boolean;
  };
}

/** @throws KitError `REQUEST_INVALID` for an unsupported constraint */
export function formGrammar(grammar: Expressions, { schema, pattern, calls }: Form): Expression {
  const choices: Expression[] = [];
  if (schema !== undefined) choices.push(schemaGrammar(grammar, schema as JsonSchema));
  else if (pattern !== undefined) choices.push(textPattern(grammar, pattern));
  if (calls) choices.push(callGrammar(grammar, calls.form, calls.tools, calls));
  return grammar.either(...choices);
}
