import { type Conversation, type Message, argumentsOf } from "../../protocol/chat.ts";
import { KitError, messageOf } from "../../protocol/error.ts";
import constants from "../constants.json" with { type: "json" };
import { createTemplate } from "./jinja.ts";
import { UnknownToKit } from "./jinja/unknownToKit.ts";
import { budgetOf } from "./templateBudget.ts";

const JOINED_ARGUMENTS = new RegExp(constants.joinedArguments);

/** Writes a conversation as a text. */
export interface Render {
  /** @param opens whether an answer is to follow */
  (conversation: Conversation, opens?: boolean): string;
  /** The same at another time than that of each rendering; undefined for a template that writes no date. */
  at?: (date: Date) => Render;
  /** Whether its source has the name of a variable. */
  reads: (variable: string) => boolean;
}

/**
 * A model's chat template, as `apply_chat_template` of `transformers` renders it.
 * @param specials the texts of `bos_token`, `eos_token` and the like
 * @throws KitError `CHECKPOINT_INVALID` for a template that is not Jinja
 */
export function createRender(
  source: string,
  specials: Record<string, string>,
  path: string,
): Render {
  const template = parsed(source, path);
  const knows = (name: string) => source.includes(name);
  const reads = (name: string) => source.split(/\W+/).includes(name);
  // As DeepSeek's.
  const takesText = knows("arguments is string") || JOINED_ARGUMENTS.test(source);
  const adapted = (message: Message) => adapt(message, knows, takesText);
  const at = (date: Date | undefined): Render =>
    Object.assign(rendering(date), { reads }, knows("strftime_now") && { at });
  return at(undefined);

  function rendering(date: Date | undefined) {
    return (conversation: Conversation, opens = false): string => {
      assertTaken(conversation, knows);
      const { messages, tools, chat_template_kwargs: kwargs } = conversation;
      const written = (all: readonly Message[]) =>
        template(
          {
            // Python has none of what is missing; null is none.
            ...{ ...specials, documents: null, ...kwargs },
            ...{ messages: all.map(adapted), tools: tools ?? null },
            add_generation_prompt: opens,
          },
          budgetOf(conversation),
          date,
        );
      try {
        return writtenOr(written, messages);
      } catch (cause) {
        throw new KitError(
          "DATASET_INVALID",
          `The model's chat template refuses a conversation: ${messageOf(cause)}. ${cause instanceof UnknownToKit ? OTHER_ENGINE : "Change its messages, or use a model with another template."}`,
          { cause, fault: { option: "messages" } },
        );
      }
    };
  }
}

/** Without words, a message that calls tools has an empty text where the template refuses null. */
function writtenOr(
  written: (messages: readonly Message[]) => string,
  messages: readonly Message[],
): string {
  try {
    return written(messages);
  } catch (cause) {
    if (messages.every(({ content }) => content !== undefined)) throw cause;
    return written(messages.map((message) => ({ ...message, content: message.content ?? "" })));
  }
}

/** No message, and no other copy, helps against what Kit does not know. */
const OTHER_ENGINE =
  "Use engine: python(), which renders templates as transformers does, or change the template.";

type Knows = (name: string) => boolean;

/** A message as a template wants it. */
function adapt(
  { weight: _, ...message }: Message,
  knows: Knows,
  takesText: boolean,
): Record<string, unknown> {
  const { role, content = null, tool_calls: calls } = message;
  return {
    ...message,
    role: role === "developer" && !knows("developer") ? "system" : role,
    content,
    // A template that takes a text, too, writes it as it is.
    ...(calls && !takesText && { tool_calls: calls.map(withParsedArguments) }),
  };
}

function withParsedArguments(call: NonNullable<Message["tool_calls"]>[number]): object {
  const { function: called } = call;
  return { ...call, function: { ...called, arguments: argumentsOf(called.arguments) } };
}

/**
 * Templates silently drop what they don't know.
 * @throws KitError `DATASET_INVALID`
 */
function assertTaken({ messages, tools }: Conversation, knows: Knows): void {
  const hasCalls = messages.some((message) => message.tool_calls);
  if ((!tools || knows("tools")) && (!hasCalls || knows("tool_calls"))) return;
  throw withoutTools();
}

/** For a model whose rows and prompts have no place for tools. */
export function withoutTools(): KitError {
  return new KitError(
    "DATASET_INVALID",
    "The model's chat template takes no tools. Use a model whose template does, or remove tools and tool_calls.",
    { fault: { option: "tools" } },
  );
}

function parsed(source: string, path: string): ReturnType<typeof createTemplate> {
  try {
    return createTemplate(source);
  } catch (cause) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The chat template of ${path} cannot be read: ${messageOf(cause)}. ${cause instanceof UnknownToKit ? OTHER_ENGINE : "Save or download it again."}`,
      { cause },
    );
  }
}

/** The conversation up to the end of its last message's words, which go on. */
export function renderOpen(render: Render, conversation: Conversation): string {
  const last = conversation.messages.at(-1);
  if (last?.role !== "assistant" || last.tool_calls) return render(conversation, true);
  const text = render(conversation);
  const { content = "" } = last;
  const words = content.trim();
  const at = text.lastIndexOf(words);
  // A template may trim a message.
  const untrimmed = at + content.trimStart().length;
  const isWhole = text.slice(0, untrimmed).endsWith(content.trimStart());
  return text.slice(0, isWhole ? untrimmed : at + words.length);
}
