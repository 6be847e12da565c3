import type { Tool } from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest, JsonSchema } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { type Form, createConstraints } from "./grammar/constraint.ts";
import { schemaGrammar } from "./grammar/schemaGrammar.ts";
import { callGrammar, hasOneCall } from "./tools/callGrammar.ts";
import { type CallReader, createCallReader } from "./tools/callReader.ts";
import { type ToolForm, findToolForm } from "./tools/toolForm.ts";

/** What an answer is held to, and how it is read. */
export interface AskedForm {
  /** Undefined where the model may say anything. */
  form: Form | undefined;
  /** Undefined where nothing can be called. */
  calls: CallReader | undefined;
  /** Special tokens that the answer may have. */
  markers: readonly number[];
}

/**
 * @param toolForm of the model's chat template: it takes a while, and most requests have no tools
 * @throws KitError `REQUEST_INVALID` for what no answer can be held to
 */
export function askedForm(
  { tools, toolChoice = "auto", ...request }: InferRequest,
  toolForm: () => ToolForm | undefined,
): AskedForm {
  const schema = request.schema as JsonSchema | undefined;
  const offered = toolChoice === "none" ? [] : (tools ?? []);
  const found = offered.length > 0 ? toolForm() : undefined;
  const isNeeded = offered.length > 0 && toolChoice !== "auto";
  if (isNeeded && !found) throw withoutForm(toolChoice);
  const name = typeof toolChoice === "object" ? toolChoice.name : undefined;
  const named = offered.filter((tool) => name === undefined || tool.function.name === name);
  const names = named.map((tool) => tool.function.name);
  const isHeld = schema !== undefined || isNeeded;
  const isOne = hasOneCall({ ...request, toolChoice });
  return {
    form: isHeld ? heldTo(schema, { form: found, tools: named, isOne }) : undefined,
    calls: found && createCallReader(found, names, isNeeded),
    markers: found?.markers ?? [],
  };
}

/** Of a model's requests. */
export function createAskedForms(tokenizer: Tokenizer) {
  let known: { found: ToolForm | undefined } | undefined;
  let constraints: ReturnType<typeof createConstraints> | undefined;
  const toolForm = () => (known ??= { found: findToolForm(tokenizer) }).found;

  /** @throws KitError `REQUEST_INVALID` for what no answer can be held to */
  return function formOf(request: InferRequest) {
    const { form, ...others } = askedForm(request, toolForm);
    if (form) constraints ??= createConstraints(tokenizer, toolForm()?.markers ?? []);
    const constraint = form && constraints?.begin(form);
    return { ...others, constraint };
  };
}

/** With `toolChoice: "none"`, hides the tools from the model. */
export function withoutHiddenTools(request: InferRequest): InferRequest {
  if (request.toolChoice !== "none" || !request.tools) return request;
  const { tools: _, ...others } = request;
  return others;
}

/** A schema's JSON, calls, or one of both. */
function heldTo(
  schema: JsonSchema | undefined,
  { form, tools, isOne }: { form: ToolForm | undefined; tools: readonly Tool[]; isOne: boolean },
): Form {
  const called = tools.map(({ function: { name, parameters } }) => [name, parameters]);
  return {
    key: form ? [schema ?? "", called, form, isOne] : schema,
    grammar: (of) =>
      of.either(
        schema === undefined ? of.none : schemaGrammar(of, schema),
        form ? callGrammar(of, form, tools, isOne) : of.none,
      ),
  };
}

function withoutForm(toolChoice: InferRequest["toolChoice"]): KitError {
  return new KitError(
    "REQUEST_INVALID",
    `infer cannot hold the answer to toolChoice ${JSON.stringify(toolChoice)}: the model's chat template writes calls in a form that Kit does not know. Use "auto", or a model of the Qwen, Llama 3 or Mistral families.`,
  );
}
