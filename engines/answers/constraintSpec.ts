import type { Tool } from "../../protocol/chat.ts";
import type { InferRequest, JsonSchema } from "../../protocol/infer.ts";
import type { Expression } from "./grammar/expression.ts";
import type { Expressions } from "./grammar/expressions.ts";
import { textPattern } from "./grammar/pattern.ts";
import { schemaGrammar } from "./grammar/schemaGrammar.ts";
import { callGrammar } from "./tools/callGrammar.ts";
import type { ToolCallFormat } from "./tools/toolCallFormat.ts";

/** A constraint before compilation: a schema or a pattern, tool calls, or either. Plain JSON, since Python compiles it, too. */
export interface ConstraintSpec extends Pick<InferRequest, "schema" | "pattern"> {
  calls?: {
    format: ToolCallFormat;
    tools: readonly Tool[];
    onlyTool?: string | undefined;
    singleCall: boolean;
  };
}

/** @throws KitError `REQUEST_INVALID` for an unsupported constraint */
export function constraintGrammar(
  grammar: Expressions,
  { schema, pattern, calls }: ConstraintSpec,
): Expression {
  const choices: Expression[] = [];
  if (schema !== undefined) choices.push(schemaGrammar(grammar, schema as JsonSchema));
  else if (pattern !== undefined) choices.push(textPattern(grammar, pattern));
  if (calls) choices.push(callGrammar(grammar, calls.format, calls.tools, calls));
  return grammar.either(...choices);
}
