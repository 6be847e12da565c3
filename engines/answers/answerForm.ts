import { setImmediate } from "node:timers/promises";
import type { Tool } from "../../protocol/chat.ts";
import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import { withFault } from "./fault.ts";
import type { Form } from "./form.ts";
import { createConstraints } from "./grammar/constraint.ts";
import { allowsOneCallAtMost } from "./tools/callGrammar.ts";
import { type CallReader, createCallReader } from "./tools/callReader.ts";
import { type ToolCallFormat, findToolCallFormat } from "./tools/toolCallFormat.ts";

/** A request's constraint, and how to read its answer. */
export interface AnswerForm {
  /** Undefined if unconstrained. */
  form: Form | undefined;
  /** Undefined without tools. */
  calls: CallReader | undefined;
  /** Special tokens that the answer may contain. */
  markers: readonly number[];
  /** The fault of errors about the form. */
  fault: RequestFault;
}

/**
 * @param toolCallFormat of the chat template; lazy, since it is slow and most requests have no tools
 * @throws KitError `REQUEST_INVALID` for an unsupported constraint
 */
export function answerForm(
  { tools, toolChoice = "auto", ...request }: InferRequest,
  toolCallFormat: () => ToolCallFormat | undefined,
): AnswerForm {
  const offered = toolChoice === "none" ? [] : (tools ?? []);
  const found = offered.length > 0 ? toolCallFormat() : undefined;
  const isRequired = offered.length > 0 && toolChoice !== "auto";
  if (isRequired && !found) throw unknownCallFormat();
  const name = typeof toolChoice === "object" ? toolChoice.name : undefined;
  const names = name === undefined ? offered.map((tool) => tool.function.name) : [name];
  const { schema, pattern } = request;
  const text: Form = schema === undefined ? { pattern } : { schema };
  const hasText = schema !== undefined || pattern !== undefined;
  const calls: Form = found
    ? {
        calls: {
          form: found,
          tools: offered.map(withoutDescription),
          only: name,
          singleCall: allowsOneCallAtMost({ ...request, toolChoice }),
        },
      }
    : {};
  return {
    fault: { option: !hasText ? "tools" : schema === undefined ? "pattern" : "schema" },
    form: hasText || isRequired ? { ...text, ...calls } : undefined,
    calls: found && createCallReader(found, names, isRequired),
    markers: found?.markers ?? [],
  };
}

function withoutDescription({ type, function: { name, parameters } }: Tool): Tool {
  return { type, function: { name, parameters } };
}

/** Grammar steps that take about as long as a short step of other requests. */
const STEP_WORK = 10_000;

/** Compiles the forms of a model's requests. */
export function createAnswerForms(tokenizer: Tokenizer) {
  let known: { found: ToolCallFormat | undefined } | undefined;
  let constraints: ReturnType<typeof createConstraints> | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  const toolCallFormat = () => (known ??= { found: findToolCallFormat(tokenizer) }).found;

  /** Compiling takes up to 0.1 s, so it yields to other requests in between, in proportion to its time. */
  function compile(form: Form) {
    const found = (constraints ??= createConstraints(tokenizer, toolCallFormat()?.markers ?? []));
    const compiled = queue.then(() => found.begin(form));
    queue = compiled
      .catch(() => {})
      .then(async () => {
        for (let left = found.stepsSpent(); left >= 0; left -= STEP_WORK) await setImmediate();
      });
    return compiled;
  }

  /** @throws KitError `REQUEST_INVALID` for an unsupported constraint */
  return async function formOf(request: InferRequest) {
    const { form, ...others } = answerForm(request, toolCallFormat);
    try {
      return { ...others, constraint: form && (await compile(form)) };
    } catch (error) {
      throw withFault(error, others.fault);
    }
  };
}

/** With `toolChoice: "none"`, hides the tools from the model. */
export function withoutHiddenTools(request: InferRequest): InferRequest {
  if (request.toolChoice !== "none" || !request.tools) return request;
  const { tools: _, ...others } = request;
  return others;
}

function unknownCallFormat(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "Kit can't enforce a call: the model's chat template writes calls in an unknown format. Let the model choose (\"auto\"), or use a model of the Qwen, Llama 3 or Mistral families.",
    { fault: { option: "toolChoice" } },
  );
}
