import type { Tool } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest, JsonSchema } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { type Constraint, createConstraints } from "./grammar/constraint.ts";
import { schemaGrammar } from "./grammar/schemaGrammar.ts";
import { callGrammar } from "./tools/callGrammar.ts";
import { type CallReader, createCallReader } from "./tools/callReader.ts";
import { type ToolForm, findToolForm } from "./tools/toolForm.ts";

/** How an answer is held to what its request asks for, and read. */
export interface AskedForm {
  /** Undefined where the model may say anything. */
  constraint: Constraint | undefined;
  /** Undefined where nothing can be called. */
  calls: CallReader | undefined;
  /** Special tokens that the answer may have. */
  markers: readonly number[];
}

/** Of a model's requests. */
export function createAskedForms(tokenizer: Tokenizer) {
  // A template takes a while, and most requests have no tools.
  let form: { found: ToolForm | undefined } | undefined;
  let constraints: ReturnType<typeof createConstraints> | undefined;

  /** @throws KitError `REQUEST_INVALID` for what no answer can be held to */
  return function formOf({ tools, toolChoice = "auto", ...request }: InferRequest): AskedForm {
    const schema = request.schema as JsonSchema | undefined;
    const offered = toolChoice === "none" ? [] : (tools ?? []);
    if (schema === undefined && offered.length === 0) {
      return { constraint: undefined, calls: undefined, markers: [] };
    }
    form ??= { found: findToolForm(tokenizer) };
    const { found } = form;
    const isNeeded = offered.length > 0 && toolChoice !== "auto";
    if (isNeeded && !found) throw withoutForm(toolChoice);
    const name = typeof toolChoice === "object" ? toolChoice.name : undefined;
    const named = offered.filter((tool) => name === undefined || tool.function.name === name);
    const callable = found && offered.length > 0 ? found : undefined;
    const isHeld = schema !== undefined || isNeeded;
    constraints ??= createConstraints(tokenizer, found?.markers ?? []);
    return {
      constraint: isHeld ? constraints.begin(heldTo(schema, callable, named)) : undefined,
      calls:
        callable &&
        createCallReader(
          callable,
          named.map((tool) => tool.function.name),
        ),
      markers: callable?.markers ?? [],
    };
  };
}

/** A schema's JSON, calls, or one of both. */
function heldTo(
  schema: JsonSchema | undefined,
  form: ToolForm | undefined,
  tools: readonly Tool[],
) {
  const called = tools.map(({ function: { name, parameters } }) => [name, parameters]);
  return {
    key: form ? [schema ?? "", called] : schema,
    grammar: (of: Parameters<typeof schemaGrammar>[0]) =>
      of.either(
        schema === undefined ? of.none : schemaGrammar(of, schema),
        form ? callGrammar(of, form, tools) : of.none,
      ),
  };
}

function withoutForm(toolChoice: InferRequest["toolChoice"]): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `infer cannot hold the answer to toolChoice ${JSON.stringify(toolChoice)}: the model's chat template writes calls in a form that Kit does not know. Use "auto", or a model of the Qwen, Llama 3 or Mistral families.`,
  );
}
