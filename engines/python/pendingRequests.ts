import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { type AnswerAssembler, createAnswerAssembler } from "../answers/answerAssembler.ts";
import { answerFormat, withoutHiddenTools } from "../answers/answerFormat.ts";
import { type ConstraintSpec, constraintGrammar } from "../answers/constraintSpec.ts";
import { withFault } from "../answers/fault.ts";
import { specJson } from "../answers/grammar/constraint.ts";
import { createExpressions } from "../answers/grammar/expressions.ts";
import type { HostCallbacks, HostRequest } from "../answers/modelHost.ts";
import {
  type ToolCallFormat,
  SAMPLE_CALLS,
  toolCallFormatOf,
} from "../answers/tools/toolCallFormat.ts";
import type { Failure, LoadedModel, PythonMessage } from "./messages.ts";

type Message<Type> = Extract<PythonMessage, { type: Type }>;

/**
 * Requests in progress in a Python process. Python chooses the tokens; everything common to all engines
 * happens here.
 * @param send to the process
 */
export function createPendingRequests(
  send: (message: object) => void,
  { onReply, onDelta }: Pick<HostCallbacks, "onReply" | "onDelta">,
) {
  const open = new Map<number, { assembler: AnswerAssembler; fault: RequestFault }>();
  /** Models by the ids of their load requests. */
  const loading = new Map<number, number>();
  const callFormats = new Map<number, ToolCallFormat | undefined>();

  function submit(message: HostRequest<unknown>): void {
    const { type, id } = message;
    if (type === "infer") return submitInfer(message);
    if (type === "load") loading.set(id, message.model);
    if (type === "cancel") open.delete(id);
    if (type === "unload") callFormats.delete(message.model);
    send(type === "load" ? { ...message, calls: SAMPLE_CALLS } : message);
  }

  function submitInfer(message: Extract<HostRequest<unknown>, { type: "infer" }>): void {
    const { id } = message;
    try {
      const visible = withoutHiddenTools(message.request);
      const {
        constraintSpec: spec,
        callReader,
        markers,
        fault,
      } = answerFormat(visible, () => callFormats.get(message.model));
      const constraintSpec = spec && checkedSpec(spec, fault);
      const { schema: _, ...request } = visible;
      const assembler = createAnswerAssembler(visible, callReader, (delta) => onDelta(id, delta));
      open.set(id, { assembler, fault });
      send({ ...message, request: request as InferRequest, constraintSpec, markers });
    } catch (error) {
      // Reject only once the caller awaits it.
      queueMicrotask(() => onReply(id, error as Error));
    }
  }

  function receiveTokens({ id, promptTokens, tokens }: Message<"tokens">): void {
    const { assembler } = open.get(id) ?? {};
    if (!assembler) return;
    for (const { text, logprob } of tokens) {
      if (!assembler.add(text, logprob)) continue;
      open.delete(id);
      send({ type: "cancel", id });
      return onReply(id, assembler.result(promptTokens));
    }
  }

  function receiveAnswer({ id, result, failure }: Message<"answer">): void {
    const { assembler, fault } = open.get(id) ?? {};
    const model = loading.get(id);
    open.delete(id);
    loading.delete(id);
    if (failure) return onReply(id, errorOf(failure, fault));
    if (model !== undefined && result && "calls" in result)
      callFormats.set(model, callFormatOf(result));
    if (!assembler || !result || "calls" in result) return onReply(id, undefined);
    if ("choices" in result) {
      const { text, logprobs } = result;
      onDelta(id, { text, ...(logprobs && { logprobs }) });
      return onReply(id, result);
    }
    assembler.end(result.finishReason);
    onReply(id, assembler.result(result.promptTokens));
  }

  return { submit, receiveTokens, receiveAnswer };
}

function errorOf(failure: Failure, fault: RequestFault | undefined): Error {
  const error = new KitError(failure.code, failure.message, { fault: failure.fault });
  return withFault(error, fault) as Error;
}

/** Input of kit_engine/answer/grammar.py. Compiles the spec here, too: refuses it sooner than Python could. */
function checkedSpec(spec: ConstraintSpec, fault: RequestFault): [json: string, count: number] {
  try {
    const json = specJson(spec);
    const expressions = createExpressions();
    constraintGrammar(expressions, spec);
    // Unicode properties differ slightly between versions, so the counts may, too.
    return [json, /\\p/i.test(json) ? 0 : expressions.count()];
  } catch (error) {
    throw withFault(error, fault);
  }
}

function callFormatOf({ calls, specials }: LoadedModel): ToolCallFormat | undefined {
  const callsText = ({ length }: { length: number }) => {
    const text = calls[length - 1];
    return text === "" ? undefined : text;
  };
  return toolCallFormatOf({ callsText, specials: () => specials });
}
