import { type Conversation, type Message, argumentsOf } from "../../protocol/chat.ts";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import constants from "../constants.json" with { type: "json" };
import { createTemplate } from "./jinja.ts";
import { UnsupportedInTemplate } from "./jinja/unsupported.ts";
import { budgetOf } from "./templateBudget.ts";

/** Matches templates that concatenate arguments with `+`. */
const JOINED_ARGUMENTS = new RegExp(constants.joinedArguments);

export interface Render {
  (conversation: Conversation, addGenerationPrompt?: boolean): string;
  /** Fixes the current date that the template writes. Undefined for a template that writes no date. */
  at?: (date: Date) => Render;
  /** Whether the variable's name occurs in the source as a whole word. */
  reads: (variable: string) => boolean;
}

/**
 * A model's chat template, rendered like `apply_chat_template` of `transformers`.
 * @param specials the texts of `bos_token`, `eos_token` and the like
 * @returns renders a conversation; throws KitError `DATASET_INVALID` if the template refuses it or lacks tools
 * @throws KitError `CHECKPOINT_INVALID` for a template that isn't Jinja, or that Kit doesn't support
 */
export function createRender(
  source: string,
  specials: Record<string, string>,
  path: string,
): Render {
  const template = parse(source, path);
  const includesText = (name: string) => source.includes(name);
  const reads = (name: string) => source.split(/\W+/).includes(name);
  // Templates that test for a string or concatenate arguments with `+`, such as DeepSeek's, take them as text.
  const takesText = includesText("arguments is string") || JOINED_ARGUMENTS.test(source);
  const adaptMessage = (message: Message) => adapt(message, includesText, takesText);
  const at = (date: Date | undefined): Render =>
    Object.assign(renderAt(date), { reads }, includesText("strftime_now") && { at });
  return at(undefined);

  function renderAt(date: Date | undefined) {
    return (conversation: Conversation, addGenerationPrompt = false): string => {
      assertSupportsTools(conversation, includesText);
      const { messages, tools, chat_template_kwargs: kwargs } = conversation;
      const renderMessages = (all: readonly Message[]) =>
        template(
          {
            // Null becomes Python's None; a missing variable stays undefined.
            ...specials,
            documents: null,
            ...kwargs,
            messages: all.map(adaptMessage),
            tools: tools ?? null,
            add_generation_prompt: addGenerationPrompt,
          },
          budgetOf(conversation),
          date,
        );
      try {
        return withContent(renderMessages, messages);
      } catch (cause) {
        throw new KitError(
          "DATASET_INVALID",
          `The model's chat template refuses a conversation: ${messageOf(cause)}. ${cause instanceof UnsupportedInTemplate ? OTHER_ENGINE : "Change its messages, or use a model with another template."}`,
          { cause, fault: { option: "messages" } },
        );
      }
    };
  }
}

/** Retries with empty content if the template refuses null in messages that only call tools. */
function withContent(
  renderMessages: (messages: readonly Message[]) => string,
  messages: readonly Message[],
): string {
  try {
    return renderMessages(messages);
  } catch (cause) {
    if (messages.every(({ content }) => content !== undefined)) throw cause;
    return renderMessages(
      messages.map((message) => ({ ...message, content: message.content ?? "" })),
    );
  }
}

/** Advice if Kit lacks a feature of the template: changing the messages wouldn't help. */
const OTHER_ENGINE =
  "Use engine: python(), which renders templates as transformers does, or change the template.";

type IncludesText = (name: string) => boolean;

/** A message as the template expects it. */
function adapt(
  { weight: _, ...message }: Message,
  includesText: IncludesText,
  takesText: boolean,
): Record<string, unknown> {
  const { role, content = null, tool_calls: calls } = message;
  return {
    ...message,
    role: role === "developer" && !includesText("developer") ? "system" : role,
    content,
    // Templates that accept text write it unchanged.
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
function assertSupportsTools({ messages, tools }: Conversation, includesText: IncludesText): void {
  const hasCalls = messages.some((message) => message.tool_calls);
  if ((!tools || includesText("tools")) && (!hasCalls || includesText("tool_calls"))) return;
  throw withoutTools();
}

/** The error for a model whose prompts can't include tools. */
export function withoutTools(): KitError {
  return new KitError(
    "DATASET_INVALID",
    "The model's chat template doesn't support tools. Use a model whose template does, or remove tools and tool_calls.",
    { fault: { option: "tools" } },
  );
}

function parse(source: string, path: string): ReturnType<typeof createTemplate> {
  try {
    return createTemplate(source);
  } catch (cause) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `The chat template of ${path} cannot be read: ${messageOf(cause)}. ${cause instanceof UnsupportedInTemplate ? OTHER_ENGINE : "Save or download it again."}`,
      { cause },
    );
  }
}

/** A rendering, or undefined if the template refuses the conversation. */
export function tryRender(
  render: Render,
  conversation: Conversation,
  addGenerationPrompt = false,
): string | undefined {
  try {
    return render(conversation, addGenerationPrompt);
  } catch (error) {
    if (isKitError(error)) return undefined;
    throw error;
  }
}

/** Renders a prompt. A final assistant message is left unfinished, for the answer to continue. */
export function renderOpen(render: Render, conversation: Conversation): string {
  const last = conversation.messages.at(-1);
  if (last?.role !== "assistant" || last.tool_calls) return render(conversation, true);
  const text = render(conversation);
  const { content = "" } = last;
  const trimmed = content.trim();
  const start = text.lastIndexOf(trimmed);
  // A template may trim trailing white space.
  const end = start + content.trimStart().length;
  const isUntrimmed = text.slice(0, end).endsWith(content.trimStart());
  return text.slice(0, isUntrimmed ? end : start + trimmed.length);
}
