import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import type { InferResult } from "../../../protocol/infer.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import { type AnswerFormat, createId } from "../answerFormat.ts";
import { apiErrorBody } from "../apiError.ts";
import { asTokens } from "../chatFormat.ts";
import {
  type ResponseObject,
  callItems,
  finalState,
  hasMessage,
  messageItem,
  responseOf,
  statusOf,
  textPart,
} from "./responseObject.ts";

type Data<Event> = Event extends { response: unknown }
  ? Pick<Event, "type" & keyof Event> & { response: ResponseObject }
  : Omit<Event, "sequence_number">;
type EventData<Event = ResponseStreamEvent> = Event extends unknown ? Data<Event> : never;

/** The format of responses. The output is the text, if any, then the calls. */
export const RESPONSE_FORMAT: AnswerFormat = {
  prefix: "resp_",

  whole(head, results, request) {
    const [result] = results as [InferResult];
    const part = textPart(result.text, result.logprobs);
    const message = messageItem(createId("msg_"), statusOf(result), [part]);
    const calls = callItems(result);
    const output = hasMessage(result) ? [message, ...calls] : calls;
    return responseOf(head, request, finalState(result, output));
  },

  frames(head, request) {
    const id = createId("msg_");
    const ids = { item_id: id, output_index: 0, content_index: 0 };
    const output: Parameters<typeof finalState>[1] = [];
    let number = 0;
    let text = "";
    let isMessageOpen = false;
    /** Log probabilities of tokens without text yet, such as part of a character. */
    let logprobs: NonNullable<InferResult["logprobs"]> = [];

    function event(data: EventData): string {
      const json = stringifyJson({ ...data, sequence_number: number++ });
      return `event: ${data.type}\ndata: ${json}\n\n`;
    }

    function messageOpening(): string {
      if (isMessageOpen) return "";
      isMessageOpen = true;
      const item = messageItem(id, "in_progress", []);
      return (
        event({ type: "response.output_item.added", output_index: 0, item }) +
        event({ type: "response.content_part.added", ...ids, part: textPart() })
      );
    }

    function textDelta(delta: string): string {
      const tokens = asTokens(logprobs);
      if (delta === "" && tokens.length === 0) return "";
      text += delta;
      logprobs = [];
      return event({ type: "response.output_text.delta", ...ids, delta, logprobs: tokens });
    }

    function messageEnd(result: InferResult): string {
      const part = textPart(text, result.logprobs);
      const item = messageItem(id, statusOf(result), [part]);
      output.push(item);
      const whole = { text, logprobs: part.logprobs ?? [] };
      return (
        messageOpening() +
        textDelta("") +
        event({ type: "response.output_text.done", ...ids, ...whole }) +
        event({ type: "response.content_part.done", ...ids, part }) +
        event({ type: "response.output_item.done", output_index: 0, item })
      );
    }

    function callEvents(item: ReturnType<typeof callItems>[number]): string {
      const output_index = output.push(item) - 1;
      const at = { item_id: item.id, output_index };
      const openItem = { ...item, status: "in_progress" as const, arguments: "" };
      const { name, arguments: delta } = item;
      return (
        event({ type: "response.output_item.added", output_index, item: openItem }) +
        event({ type: "response.function_call_arguments.delta", ...at, delta }) +
        event({ type: "response.function_call_arguments.done", ...at, name, arguments: delta }) +
        event({ type: "response.output_item.done", output_index, item })
      );
    }

    return {
      opening() {
        const response = responseOf(head, request, { status: "in_progress", output: [] });
        return (
          event({ type: "response.created", response }) +
          event({ type: "response.in_progress", response })
        );
      },
      delta({ text: delta, logprobs: newLogprobs = [] }) {
        logprobs.push(...newLogprobs);
        return delta === "" ? "" : messageOpening() + textDelta(delta);
      },
      choice(result) {
        const message = hasMessage(result) ? messageEnd(result) : "";
        return message + callItems(result).map(callEvents).join("");
      },
      end(results) {
        const [result] = results as [InferResult];
        const response = responseOf(head, request, finalState(result, output));
        return event({ type: `response.${statusOf(result)}`, response });
      },
      fail({ status, message, details }) {
        const { param = null, code = null } = details;
        const error = { code: "server_error" as const, message };
        const response = responseOf(head, request, { status: "failed", error, output });
        // OpenAI's types have the fields beside the type; its clients throw the value of `error`.
        const nested = apiErrorBody(status, message, details);
        return (
          event({ type: "error", code, message, param, ...nested }) +
          event({ type: "response.failed", response })
        );
      },
    };
  },
};
