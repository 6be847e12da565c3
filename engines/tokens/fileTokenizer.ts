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
import { answerMasks, markAnswers } from "./answerMask.ts";
import { type Render, renderOpen, withoutTools } from "./chatTemplate.ts";
import { type EndTokens, isEnded } from "./ends.ts";
import { type Library, cleansSpaces, createLibrary, withoutSpaces } from "./library.ts";
import { createMarkup } from "./markup.ts";
import { createTextEncoder, tokensAround } from "./textEncoder.ts";
import { createPieces } from "./tokenBytes.ts";
import type { PromptStyle, Span, Tokenizer } from "./tokenizer.ts";
import { assertModestGrowth, limitTokenizer } from "./tokenizerLimits.ts";
import { createUnwritten } from "./unwritten.ts";

/** The files of a model's tokenizer that Kit reads. */
export interface TokenizerFiles {
  /** Path of `tokenizer.json`, for errors. */
  path: string;
  tokenizer: Record<string, unknown>;
  config: Record<string, unknown>;
  /** Logit count; may exceed the tokenizer's vocabulary. */
  vocabulary: number;
  /** The texts of the special tokens, by their names in the config. */
  specials: Record<string, string>;
  ends: EndTokens;
  /** The chat template; undefined for a model that only continues text. */
  render: Render | undefined;
}

/**
 * A model's own tokenizer, by Hugging Face's library. Rows and prompts become the tokens that
 * `transformers` makes of them.
 * @throws KitError `CHECKPOINT_INVALID` for a kind of tokenizer that the library does not know
 */
export function createFileTokenizer(files: TokenizerFiles): Tokenizer {
  assertModestGrowth(files.path, files.tokenizer);
  return tokenizerOver(openLibrary(files), files);
}

function tokenizerOver(library: Library, files: TokenizerFiles): Tokenizer {
  const { path, specials, render, vocabulary } = files;
  const pieces = createPieces(library, files.tokenizer);
  const idOf = (text: string | undefined) => (text === undefined ? undefined : library.idOf(text));
  const [bos, own] = [idOf(specials["bos_token"]), idOf(specials["eos_token"])];
  if (own !== undefined) assertKnown(files, own, specials["eos_token"]);
  const { added, bytesOf, dropsSpace } = library;
  const ends = new Set(files.ends.all.filter((id) => id < vocabulary));
  const [eos] = ends;
  const unspoken = new Set([...added].flatMap(([id, { special }]) => (special ? [id] : [])));
  for (const text of Object.values(specials)) unspoken.add(idOf(text) ?? -1);
  const textOf = (id: number) => Buffer.from(bytesOf(id)).toString();
  const markup = createMarkup({
    ...{ added: [...added.values()], render },
    ...{ bos: specials["bos_token"], ends: [...ends].map(textOf) },
  });
  const cleans = cleansSpaces(files.tokenizer, files.config);

  const encode = (text: string, withSpecials = true): number[] =>
    library.encode(text, withSpecials).map(({ id }) => id);

  const encodeText = createTextEncoder(encode);
  const hasEnd = (ids: readonly number[]) => isEnded(ids, { isEnd: (id) => ends.has(id), bytesOf });

  /** All of a text is learned, and its end. */
  function text(words: string): Span[] {
    const ids = encodeText(words);
    if (eos !== undefined && !hasEnd(ids)) ids.push(eos);
    return spans(
      ids,
      ids.map((id, i) => i > 0 || id !== bos),
    );
  }

  /** Without a chat template, a conversation is its words, and an end after each answer. */
  function words({ messages, tools }: Conversation): Span[] {
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

  /** A prompt that was rendered before is not rendered again, and nor is its answer. */
  function rendered(prompt: string, completion: string): Span[] {
    const whole = prompt + completion;
    const { ids, learned } = markAnswers(whole, [[prompt, whole]], { encode: pieces, ends });
    const end = files.ends.turn ?? eos;
    if (end !== undefined && !ids.some((id, i) => learned[i] && ends.has(id))) {
      ids.push(end);
      learned.push(true);
    }
    const { before = [] } = tokensAround(encode) ?? {};
    if (before.every((id, i) => ids[i] === id)) return spans(ids, learned);
    return spans([...before, ...ids], [...before.map(() => false), ...learned]);
  }

  function sequencesOf(row: Row): Span[][] {
    if ("text" in row) return [text(row.text)];
    if ("prompt" in row && !row.tools && markup.isRendered(row.prompt)) {
      return [rendered(row.prompt, row.completion)];
    }
    const conversation = "messages" in row ? row : asked(row);
    if (!render) return [words(conversation)];
    return answerMasks(conversation, { render, encode: pieces, ends }).map(({ ids, learned }) =>
      spans(ids, learned),
    );
  }

  function decoded(tokens: readonly number[], skips: boolean): string {
    if (tokens.length === 0) return "";
    const words = limitTokenizer(path, tokens.length, () => library.decode(tokens, skips));
    return cleans ? withoutSpaces(words) : words;
  }

  function promptTokens(request: InferRequest, style: PromptStyle, begun = ""): number[] {
    const { prompt = "", raw, tools, chatTemplateKwargs: kwargs } = request;
    const messages = request.messages?.map(asMessage);
    if (!render) {
      if (tools) throw withoutTools();
      return encodeText((messages?.map(({ content }) => content).join("") ?? prompt) + begun);
    }
    const isText = raw || style === "text" || (!tools && markup.isRendered(prompt));
    if (!messages && isText) return encodeText(prompt + begun);
    const conversation = {
      ...(messages ? { messages, ...(tools && { tools }) } : question(prompt)),
      ...(kwargs && { chat_template_kwargs: kwargs }),
    };
    return encode(renderOpen(render, conversation) + begun, false);
  }

  function callsText(calls: readonly ToolCall[]): string | undefined {
    if (!render) return undefined;
    const { messages } = question("?");
    const called: Message = { role: "assistant", content: "", tool_calls: calls };
    const tools = calls.map(({ function: { name } }): Tool => ({
      type: "function",
      function: { name, description: name, parameters: { type: "object", properties: {} } },
    }));
    try {
      const opened = render({ messages, tools }, true);
      const whole = render({ messages: [...messages, called], tools });
      if (!whole.startsWith(opened)) return undefined;
      const written = whole.slice(opened.length);
      const places = [...ends].map((end) => written.indexOf(textOf(end)));
      return written.slice(0, Math.min(written.length, ...places.filter((place) => place >= 0)));
    } catch {
      // It takes no tools, or not so many calls at once.
      return undefined;
    }
  }

  const limited = <T>(texts: Row | InferRequest, work: () => T) =>
    limitTokenizer(path, stringifyJson(texts)?.length ?? 0, work);

  return {
    vocabulary,
    hasTemplate: render !== undefined,
    ...(render?.at && {
      at: (date: Date) => tokenizerOver(library, { ...files, render: render.at?.(date) }),
    }),
    sequencesOf: (row) => limited(row, () => sequencesOf(row)),
    promptTokens: (request, style, begun) =>
      limited(request, () => promptTokens(request, style, begun)),
    ...{ bytesOf, dropsSpace, callsText, markup },
    isUnwritten: createUnwritten(render),
    readsVariable: (name) => render?.reads(name) ?? false,
    decode: (tokens) => decoded(tokens, true).replace(/\uFFFD+$/, ""),
    show: (tokens) => decoded(tokens, false),
    isSpecial: (token) => added.has(token),
    ends: [...ends],
    isEnd: (token) => ends.has(token),
    isSpoken: (token) => library.tokenOf(token) !== undefined && !unspoken.has(token),
  };
}

function question(prompt: string): { messages: Message[] } {
  return { messages: [{ role: "user", content: prompt }] };
}

function asked({ prompt, completion, ...beside }: Extract<Row, { prompt: string }>): Conversation {
  const { messages } = question(prompt);
  messages.push({ role: "assistant", content: completion });
  return { messages, ...beside };
}

/** The library, which encodes a text to ids that the model knows, or throws. */
function openLibrary(files: TokenizerFiles): Library {
  const { encode, ...library } = createLibrary(files.path, files.tokenizer);
  return {
    ...library,
    encode(...asked) {
      const tokens = encode(...asked);
      for (const { id, token } of tokens) assertKnown(files, id, token);
      return tokens;
    },
  };
}

/** @throws KitError `CHECKPOINT_INVALID` for the id of a token that was added without the model's knowing */
function assertKnown({ path, vocabulary }: TokenizerFiles, id: number, token = ""): void {
  if (id >= 0 && id < vocabulary) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} gives the token ${JSON.stringify(token)} the id ${id}, but the model has ids from 0 to ${vocabulary - 1}. Use the tokenizer that the model was trained with.`,
  );
}

function spans(ids: readonly number[], learned: readonly boolean[]): Span[] {
  const found: Span[] = [];
  for (let start = 0, end = 0; start < ids.length; start = end) {
    const isLearned = learned[start] ?? false;
    while (end < ids.length && learned[end] === isLearned) end++;
    found.push({ tokens: Uint32Array.from(ids.slice(start, end)), isLearned });
  }
  return found;
}
