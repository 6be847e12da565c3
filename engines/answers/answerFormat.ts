import { setImmediate } from "node:timers/promises";
import type { Tool } from "../../protocol/chat.ts";
import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { ConstraintSpec } from "./constraintSpec.ts";
import { withFault } from "./fault.ts";
import { createConstraints } from "./grammar/constraint.ts";
import { allowsOneCallAtMost } from "./tools/callGrammar.ts";
import { type CallReader, createCallReader } from "./tools/callReader.ts";
import { type ToolCallFormat, findToolCallFormat } from "./tools/toolCallFormat.ts";

/** How a request constrains its answer, and how the answer is read. */
export interface AnswerFormat {
  /** Undefined if unconstrained. */
  constraintSpec: ConstraintSpec | undefined;
  /** Undefined without tools. */
  callReader: CallReader | undefined;
  /** Special tokens that the answer may contain. */
  markers: readonly number[];
  /** The option that an invalid constraint came from. */
  fault: RequestFault;
}

/**
 * @param toolCallFormat detects the chat template's format, which is slow; called only for requests with tools
 * @throws KitError `REQUEST_INVALID` for an unsupported constraint
 */
export function answerFormat(
  { tools, toolChoice = "auto", ...request }: InferRequest,
  toolCallFormat: () => ToolCallFormat | undefined,
): AnswerFormat {
  const offered = toolChoice === "none" ? [] : (tools ?? []);
  const format = offered.length > 0 ? toolCallFormat() : undefined;
  const isRequired = offered.length > 0 && toolChoice !== "auto";
  if (isRequired && !format) throw unknownCallFormat();
  const name = typeof toolChoice === "object" ? toolChoice.name : undefined;
  const names = name === undefined ? offered.map((tool) => tool.function.name) : [name];
  const { schema, pattern } = request;
  const text: ConstraintSpec = schema === undefined ? { pattern } : { schema };
  const hasText = schema !== undefined || pattern !== undefined;
  const calls: ConstraintSpec = format
    ? {
        calls: {
          format,
          tools: offered.map(withoutDescription),
          onlyTool: name,
          singleCall: allowsOneCallAtMost({ ...request, toolChoice }),
        },
      }
    : {};
  return {
    fault: { option: !hasText ? "tools" : schema === undefined ? "pattern" : "schema" },
    constraintSpec: hasText || isRequired ? { ...text, ...calls } : undefined,
    callReader: format && createCallReader(format, names, isRequired),
    markers: format?.markers ?? [],
  };
}

function withoutDescription({ type, function: { name, parameters } }: Tool): Tool {
  return { type, function: { name, parameters } };
}

/** Grammar steps that take about as long as one step of the model for other requests. */
const STEPS_PER_YIELD = 10_000;

/** Compiles the constraints of a model's requests. */
export function createAnswerFormats(tokenizer: Tokenizer) {
  let cached: { format: ToolCallFormat | undefined } | undefined;
  let constraints: ReturnType<typeof createConstraints> | undefined;
  let queue: Promise<unknown> = Promise.resolve();
  const toolCallFormat = () => (cached ??= { format: findToolCallFormat(tokenizer) }).format;

  /** Compiles one constraint at a time, up to 0.1 s each, then yields to other requests for as many turns as it took. */
  function compile(spec: ConstraintSpec) {
    const compiler = (constraints ??= createConstraints(
      tokenizer,
      toolCallFormat()?.markers ?? [],
    ));
    const compiled = queue.then(() => compiler.create(spec));
    queue = compiled
      .catch(() => {})
      .then(async () => {
        for (let steps = compiler.stepsSpent(); steps >= 0; steps -= STEPS_PER_YIELD)
          await setImmediate();
      });
    return compiled;
  }

  /** @throws KitError `REQUEST_INVALID` for an unsupported constraint */
  return async function formatOf(request: InferRequest) {
    const { constraintSpec: spec, ...others } = answerFormat(request, toolCallFormat);
    try {
      return { ...others, constraint: spec && (await compile(spec)) };
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
