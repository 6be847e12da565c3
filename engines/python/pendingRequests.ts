import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { answerForm, withoutHiddenTools } from "../answers/answerForm.ts";
import { type AnswerParts, createAnswerParts } from "../answers/answerParts.ts";
import { withFault } from "../answers/fault.ts";
import { type Form, formGrammar } from "../answers/form.ts";
import { keyOf } from "../answers/grammar/constraint.ts";
import { createExpressions } from "../answers/grammar/expressions.ts";
import type { Listener, HostRequest } from "../answers/modelHost.ts";
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
  { onAnswer, onDelta }: Pick<Listener, "onAnswer" | "onDelta">,
) {
  const open = new Map<number, { parts: AnswerParts; fault: RequestFault }>();
  /** Models by the ids of their load requests. */
  const loading = new Map<number, number>();
  const callFormats = new Map<number, ToolCallFormat | undefined>();

  function ask(message: HostRequest<unknown>): void {
    const { type, id } = message;
    if (type === "infer") return askFor(message);
    if (type === "load") loading.set(id, message.model);
    if (type === "cancel") open.delete(id);
    if (type === "unload") callFormats.delete(message.model);
    send(type === "load" ? { ...message, calls: SAMPLE_CALLS } : message);
  }

  function askFor(message: Extract<HostRequest<unknown>, { type: "infer" }>): void {
    const { id } = message;
    try {
      const visible = withoutHiddenTools(message.request);
      const { form, calls, markers, fault } = answerForm(visible, () =>
        callFormats.get(message.model),
      );
      const constrainedBy = form && grammarOf(form, fault);
      const { schema: _, ...request } = visible;
      const parts = createAnswerParts(visible, calls, (delta) => onDelta(id, delta));
      open.set(id, { parts, fault });
      send({ ...message, request: request as InferRequest, form: constrainedBy, markers });
    } catch (error) {
      // Reject only once the caller awaits it.
      queueMicrotask(() => onAnswer(id, error as Error));
    }
  }

  function takeTokens({ id, promptTokens, tokens }: Message<"tokens">): void {
    const { parts } = open.get(id) ?? {};
    if (!parts) return;
    for (const { text, logprob } of tokens) {
      if (!parts.take(text, logprob)) continue;
      open.delete(id);
      send({ type: "cancel", id });
      return onAnswer(id, parts.result(promptTokens));
    }
  }

  function takeAnswer({ id, result, failure }: Message<"answer">): void {
    const { parts, fault } = open.get(id) ?? {};
    const model = loading.get(id);
    open.delete(id);
    loading.delete(id);
    if (failure) return onAnswer(id, errorOf(failure, fault));
    if (model !== undefined && result && "calls" in result)
      callFormats.set(model, callFormatOf(result));
    if (!parts || !result || "calls" in result) return onAnswer(id, undefined);
    if ("choices" in result) {
      const { text, logprobs } = result;
      onDelta(id, { text, ...(logprobs && { logprobs }) });
      return onAnswer(id, result);
    }
    parts.end(result.finishReason);
    onAnswer(id, parts.result(result.promptTokens));
  }

  return { ask, takeTokens, takeAnswer };
}

function errorOf(failure: Failure, fault: RequestFault | undefined): Error {
  const error = new KitError(failure.code, failure.message, { fault: failure.fault });
  return withFault(error, fault) as Error;
}

/** Input of kit_engine/answer/grammar.py. Refuses unsupported grammars early, faster than Python. */
function grammarOf(form: Form, fault: RequestFault): [json: string, count: number] {
  try {
    const json = keyOf(form);
    const expressions = createExpressions();
    formGrammar(expressions, form);
    // Unicode properties differ slightly between versions.
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
