import { type RequestFault, KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { type AnswerParts, createAnswerParts } from "../answers/answerParts.ts";
import { askedForm, withoutHiddenTools } from "../answers/askedForm.ts";
import { atFault } from "../answers/fault.ts";
import { type Form, formGrammar } from "../answers/form.ts";
import { keyOf } from "../answers/grammar/constraint.ts";
import { createExpressions } from "../answers/grammar/expressions.ts";
import { type ToolForm, SAMPLE_CALLS, toolFormOf } from "../answers/tools/toolForm.ts";
import type { Listener, Question } from "../answers/warmModels.ts";
import type { Failure, LoadedModel, PythonMessage } from "./messages.ts";

type Message<Type> = Extract<PythonMessage, { type: Type }>;

/**
 * Requests in progress in a Python process. Python chooses the tokens; everything common to all engines
 * happens here.
 * @param send to the process
 */
export function createOpenAnswers(
  send: (question: object) => void,
  { onAnswer, onPiece }: Pick<Listener, "onAnswer" | "onPiece">,
) {
  const open = new Map<number, { parts: AnswerParts; fault: RequestFault }>();
  /** Models by the ids of their load requests. */
  const loading = new Map<number, number>();
  const forms = new Map<number, ToolForm | undefined>();

  function ask(question: Question<unknown>): void {
    const { type, id } = question;
    if (type === "infer") return askFor(question);
    if (type === "load") loading.set(id, question.model);
    if (type === "cancel") open.delete(id);
    if (type === "unload") forms.delete(question.model);
    send(type === "load" ? { ...question, calls: SAMPLE_CALLS } : question);
  }

  function askFor(question: Extract<Question<unknown>, { type: "infer" }>): void {
    const { id } = question;
    try {
      const asked = withoutHiddenTools(question.request);
      const { form, calls, markers, fault } = askedForm(asked, () => forms.get(question.model));
      const constrainedBy = form && grammarOf(form, fault);
      const { schema: _, ...request } = asked;
      const parts = createAnswerParts(asked, calls, (piece) => onPiece(id, piece));
      open.set(id, { parts, fault });
      send({ ...question, request: request as InferRequest, form: constrainedBy, markers });
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
    if (model !== undefined && result && "calls" in result) forms.set(model, formOf(result));
    if (!parts || !result || "calls" in result) return onAnswer(id, undefined);
    if ("choices" in result) {
      const { text, logprobs } = result;
      onPiece(id, { text, ...(logprobs && { logprobs }) });
      return onAnswer(id, result);
    }
    parts.end(result.finishReason);
    onAnswer(id, parts.result(result.promptTokens));
  }

  return { ask, takeTokens, takeAnswer };
}

function errorOf(failure: Failure, fault: RequestFault | undefined): Error {
  const error = new KitError(failure.code, failure.message, { fault: failure.fault });
  return atFault(error, fault) as Error;
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
    throw atFault(error, fault);
  }
}

function formOf({ calls, specials }: LoadedModel): ToolForm | undefined {
  const callsText = ({ length }: { length: number }) => {
    const text = calls[length - 1];
    return text === "" ? undefined : text;
  };
  return toolFormOf({ callsText, specials: () => specials });
}
