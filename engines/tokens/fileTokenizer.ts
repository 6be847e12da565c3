import {
  type Conversation,
  type Message,
  type Tool,
  type ToolCall,
  asMessage,
  isLearned,
} from "../../protocol/chat.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";
import type { Row } from "../dataset/row.ts";
import { answerMasks, maskAnswers } from "./answerMask.ts";
import { type Render, renderOpen, withoutTools } from "./chatTemplate.ts";
import { createDroppedParts } from "./droppedParts.ts";
import { createMarkup } from "./markup.ts";
import {
  type TokenizerPipeline,
  hasSpaceCleanup,
  createPipeline,
  cleanUpSpaces,
} from "./pipeline.ts";
import { type StopTokens, endsWithStopToken } from "./stopTokens.ts";
import { createTextEncoder, tokensAround } from "./textEncoder.ts";
import type { PromptStyle, Span, Tokenizer } from "./tokenizer.ts";
import { assertBoundedGrowth, limitTokenizer } from "./tokenizerLimits.ts";
import { createTokenTexts } from "./tokenTexts.ts";

/** What Kit reads of a model's tokenizer files. */
export interface TokenizerFiles {
  /** Path of `tokenizer.json`, for errors. */
  path: string;
  tokenizer: Record<string, unknown>;
  config: Record<string, unknown>;
  /** Number of logits; may exceed the tokenizer's vocabulary. */
  vocabulary: number;
  /** Texts of special tokens, by their names in the config, such as `bos_token`. */
  specials: Record<string, string>;
  stopTokens: StopTokens;
  /** The chat template; undefined for a model that only continues text. */
  render: Render | undefined;
}

/**
 * A model's own tokenizer. Rows and prompts become the same tokens as in `transformers`.
 * @throws KitError `CHECKPOINT_INVALID` for a damaged or unsupported tokenizer
 */
export function createFileTokenizer(files: TokenizerFiles): Tokenizer {
  assertBoundedGrowth(files.path, files.tokenizer);
  return tokenizerOver(openPipeline(files), files);
}

function tokenizerOver(pipeline: TokenizerPipeline, files: TokenizerFiles): Tokenizer {
  const { path, specials, render, vocabulary } = files;
  const tokenTexts = createTokenTexts(pipeline, files.tokenizer);
  const idOf = (text: string | undefined) => (text === undefined ? undefined : pipeline.idOf(text));
  const [bos, tokenizerEos] = [idOf(specials["bos_token"]), idOf(specials["eos_token"])];
  if (tokenizerEos !== undefined) assertInVocabulary(files, tokenizerEos, specials["eos_token"]);
  const { added, bytesOf, dropsSpace } = pipeline;
  const stopTokens = new Set(files.stopTokens.all.filter((id) => id < vocabulary));
  const [eos] = stopTokens;
  const excludedFromText = new Set(
    [...added].flatMap(([id, { special }]) => (special ? [id] : [])),
  );
  for (const text of Object.values(specials)) excludedFromText.add(idOf(text) ?? -1);
  const textOf = (id: number) => Buffer.from(bytesOf(id)).toString();
  const markup = createMarkup({
    added: [...added.values()],
    render,
    bos: specials["bos_token"],
    stopTexts: [...stopTokens].map(textOf),
  });
  const cleansUp = hasSpaceCleanup(files.tokenizer, files.config);

  const encode = (text: string, withSpecials = true): number[] =>
    pipeline.encode(text, withSpecials).map(({ id }) => id);

  const encodeText = createTextEncoder(encode);
  const hasEnd = (ids: readonly number[]) =>
    endsWithStopToken(ids, { isStopToken: (id) => stopTokens.has(id), bytesOf });

  /** A plain text, of which all is learned, with a stop token. */
  function textSpans(content: string): Span[] {
    const ids = encodeText(content);
    if (eos !== undefined && !hasEnd(ids)) ids.push(eos);
    return spansOf(
      ids,
      ids.map((id, i) => i > 0 || id !== bos),
    );
  }

  /** Without a chat template: the messages' contents, with a stop token after each answer. */
  function conversationSpans({ messages, tools }: Conversation): Span[] {
    if (tools || messages.some(({ role, tool_calls: calls }) => role === "tool" || calls)) {
      throw withoutTools();
    }
    return messages.flatMap((message, turn) => {
      const content = message.content ?? "";
      const ids = turn === 0 ? encodeText(content) : encode(content, false);
      if (message.role === "assistant" && eos !== undefined && !hasEnd(ids)) ids.push(eos);
      return { tokens: Uint32Array.from(ids), isLearned: isLearned(message) };
    });
  }

  /** A prompt that already has the chat template's markup, with its completion. */
  function renderedSpans(prompt: string, completion: string): Span[] {
    const whole = prompt + completion;
    const { ids, learned } = maskAnswers(whole, [[prompt, whole]], {
      encode: tokenTexts,
      stopTokens,
    });
    const end = files.stopTokens.turn ?? eos;
    if (end !== undefined && !ids.some((id, i) => learned[i] && stopTokens.has(id))) {
      ids.push(end);
      learned.push(true);
    }
    const { before = [] } = tokensAround(encode) ?? {};
    if (before.every((id, i) => ids[i] === id)) return spansOf(ids, learned);
    return spansOf([...before, ...ids], [...before.map(() => false), ...learned]);
  }

  function sequencesOf(row: Row): Span[][] {
    if ("text" in row) return [textSpans(row.text)];
    if ("prompt" in row && !row.tools && markup.isRendered(row.prompt)) {
      return [renderedSpans(row.prompt, row.completion)];
    }
    const conversation = "messages" in row ? row : conversationOf(row);
    if (!render) return [conversationSpans(conversation)];
    return answerMasks(conversation, { render, encode: tokenTexts, stopTokens }).map(
      ({ ids, learned }) => spansOf(ids, learned),
    );
  }

  function decode(tokens: readonly number[], skipsSpecials: boolean): string {
    if (tokens.length === 0) return "";
    const text = limitTokenizer(path, tokens.length, () => pipeline.decode(tokens, skipsSpecials));
    return cleansUp ? cleanUpSpaces(text) : text;
  }

  function promptTokens(request: InferRequest, style: PromptStyle, answerStart = ""): number[] {
    const { prompt = "", raw, tools, chatTemplateKwargs: kwargs } = request;
    const messages = request.messages?.map(asMessage);
    if (!render) {
      if (tools) throw withoutTools();
      return encodeText((messages?.map(({ content }) => content).join("") ?? prompt) + answerStart);
    }
    const isText = raw || style === "text" || (!tools && markup.isRendered(prompt));
    if (!messages && isText) return encodeText(prompt + answerStart);
    const conversation = {
      ...(messages ? { messages, ...(tools && { tools }) } : userMessage(prompt)),
      ...(kwargs && { chat_template_kwargs: kwargs }),
    };
    return encode(renderOpen(render, conversation) + answerStart, false);
  }

  function callsText(calls: readonly ToolCall[]): string | undefined {
    if (!render) return undefined;
    const { messages } = userMessage("?");
    const answer: Message = { role: "assistant", content: "", tool_calls: calls };
    const tools = calls.map(({ function: { name } }): Tool => ({
      type: "function",
      function: { name, description: name, parameters: { type: "object", properties: {} } },
    }));
    try {
      const prompt = render({ messages, tools }, true);
      const whole = render({ messages: [...messages, answer], tools });
      if (!whole.startsWith(prompt)) return undefined;
      const answerText = whole.slice(prompt.length);
      const positions = [...stopTokens].map((end) => answerText.indexOf(textOf(end)));
      return answerText.slice(
        0,
        Math.min(answerText.length, ...positions.filter((position) => position >= 0)),
      );
    } catch {
      // The template supports no tools, or no parallel calls.
      return undefined;
    }
  }

  const withLimit = <T>(input: Row | InferRequest, work: () => T) =>
    limitTokenizer(path, stringifyJson(input)?.length ?? 0, work);

  return {
    vocabulary,
    hasTemplate: render !== undefined,
    ...(render?.at && {
      at: (date: Date) => tokenizerOver(pipeline, { ...files, render: render.at?.(date) }),
    }),
    sequencesOf: (row) => withLimit(row, () => sequencesOf(row)),
    promptTokens: (request, style, answerStart) =>
      withLimit(request, () => promptTokens(request, style, answerStart)),
    bytesOf,
    dropsSpace,
    callsText,
    markup,
    isDropped: createDroppedParts(render),
    readsVariable: (name) => render?.reads(name) ?? false,
    decode: (tokens) => decode(tokens, true).replace(/\uFFFD+$/, ""),
    show: (tokens) => decode(tokens, false),
    isSpecial: (token) => added.has(token),
    stopTokens: [...stopTokens],
    isStopToken: (token) => stopTokens.has(token),
    isTextToken: (token) => pipeline.tokenOf(token) !== undefined && !excludedFromText.has(token),
  };
}

function userMessage(prompt: string): { messages: Message[] } {
  return { messages: [{ role: "user", content: prompt }] };
}

function conversationOf({
  prompt,
  completion,
  ...extras
}: Extract<Row, { prompt: string }>): Conversation {
  const { messages } = userMessage(prompt);
  messages.push({ role: "assistant", content: completion });
  return { messages, ...extras };
}

/** A pipeline that throws for ids outside the model's vocabulary. */
function openPipeline(files: TokenizerFiles): TokenizerPipeline {
  const { encode, ...pipeline } = createPipeline(files.path, files.tokenizer);
  return {
    ...pipeline,
    encode(...input) {
      const tokens = encode(...input);
      for (const { id, token } of tokens) assertInVocabulary(files, id, token);
      return tokens;
    },
  };
}

/** @throws KitError `CHECKPOINT_INVALID` for a token without a row in the model's embedding */
function assertInVocabulary({ path, vocabulary }: TokenizerFiles, id: number, token = ""): void {
  if (id >= 0 && id < vocabulary) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} gives the token ${JSON.stringify(token)} the id ${id}, but the model has ids from 0 to ${vocabulary - 1}. Use the tokenizer that the model was trained with.`,
  );
}

function spansOf(ids: readonly number[], learned: readonly boolean[]): Span[] {
  const found: Span[] = [];
  for (let start = 0, end = 0; start < ids.length; start = end) {
    const isLearned = learned[start] ?? false;
    while (end < ids.length && learned[end] === isLearned) end++;
    found.push({ tokens: Uint32Array.from(ids.slice(start, end)), isLearned });
  }
  return found;
}
