import { setImmediate } from "node:timers/promises";
import type { Tool } from "../../protocol/chat.ts";
import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { atFault } from "./fault.ts";
import type { Form } from "./form.ts";
import { createConstraints } from "./grammar/constraint.ts";
import { hasOneCall } from "./tools/callGrammar.ts";
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
  /** Of an error about the form. */
  fault: RequestFault;
}

/**
 * @param toolForm of the model's chat template: it takes a while, and most requests have no tools
 * @throws KitError `REQUEST_INVALID` for what no answer can be held to
 */
export function askedForm(
  { tools, toolChoice = "auto", ...request }: InferRequest,
  toolForm: () => ToolForm | undefined,
): AskedForm {
  const offered = toolChoice === "none" ? [] : (tools ?? []);
  const found = offered.length > 0 ? toolForm() : undefined;
  const isNeeded = offered.length > 0 && toolChoice !== "auto";
  if (isNeeded && !found) throw withoutForm();
  const name = typeof toolChoice === "object" ? toolChoice.name : undefined;
  const names = name === undefined ? offered.map((tool) => tool.function.name) : [name];
  const { schema, pattern } = request;
  const words: Form = schema === undefined ? { pattern } : { schema };
  const hasWords = schema !== undefined || pattern !== undefined;
  const calls: Form = found
    ? {
        calls: {
          form: found,
          tools: offered.map(withoutDescription),
          only: name,
          isOne: hasOneCall({ ...request, toolChoice }),
        },
      }
    : {};
  return {
    fault: { option: !hasWords ? "tools" : schema === undefined ? "pattern" : "schema" },
    form: hasWords || isNeeded ? { ...words, ...calls } : undefined,
    calls: found && createCallReader(found, names, isNeeded),
    markers: found?.markers ?? [],
  };
}

function withoutDescription({ type, function: { name, parameters } }: Tool): Tool {
  return { type, function: { name, parameters } };
}

/** Work on grammars for each step of others, at most: as long as a short one. */
const STEP_WORK = 10_000;

/** Of a model's requests. */
export function createAskedForms(tokenizer: Tokenizer) {
  let known: { found: ToolForm | undefined } | undefined;
  let constraints: ReturnType<typeof createConstraints> | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const toolForm = () => (known ??= { found: findToolForm(tokenizer) }).found;

  /** A grammar takes up to a tenth of a second, so others take steps between two: the more, the longer it took. */
  function begun(form: Form) {
    const found = (constraints ??= createConstraints(tokenizer, toolForm()?.markers ?? []));
    const made = turn.then(() => found.begin(form));
    turn = made
      .catch(() => {})
      .then(async () => {
        for (let left = found.spent(); left >= 0; left -= STEP_WORK) await setImmediate();
      });
    return made;
  }

  /** @throws KitError `REQUEST_INVALID` for what no answer can be held to */
  return async function formOf(request: InferRequest) {
    const { form, ...others } = askedForm(request, toolForm);
    try {
      return { ...others, constraint: form && (await begun(form)) };
    } catch (error) {
      throw atFault(error, others.fault);
    }
  };
}

/** With `toolChoice: "none"`, hides the tools from the model. */
export function withoutHiddenTools(request: InferRequest): InferRequest {
  if (request.toolChoice !== "none" || !request.tools) return request;
  const { tools: _, ...others } = request;
  return others;
}

function withoutForm(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    'No answer can be held to a call: the model\'s chat template writes calls in a form that Kit does not know. Let the model choose ("auto"), or use one of the Qwen, Llama 3 or Mistral families.',
    { fault: { option: "toolChoice" } },
  );
}
