import type { Message } from "../../protocol/chat.ts";
import { isKitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { Render } from "./chatTemplate.ts";
import type { Tokenizer } from "./tokenizer.ts";

type Config = Record<string, unknown>;

/** What a model's files say of where its answers end. */
export interface EndFiles {
  /** `tokenizer.json`. */
  tokenizer: Config;
  /** The text of the `eos_token`. */
  eos: string | undefined;
  /** `config.json`. */
  config: Config;
  /** `generation_config.json`, if there is one. */
  generation: Config | undefined;
  render: Render | undefined;
}

/** Ids of the tokens at which answers stop. */
export interface EndTokens {
  /** What ends a text first, then what ends a turn. */
  all: readonly number[];
  /** What the chat template ends an answer's turn with. */
  turn: number | undefined;
}

/**
 * The tokenizer's `eos_token`, what the chat template ends an answer's turn with, and what
 * `generation_config.json` names, or else `config.json`. A base model's `eos_token` is often not what
 * its template writes.
 */
export function findEnds({ tokenizer, eos, config, generation, render }: EndFiles): EndTokens {
  const added = addedTokens(tokenizer);
  const own = eos === undefined ? undefined : idOf(tokenizer, eos);
  const named = allNamed(config, generation, added);
  const text = own ?? named[0];
  const known = text === undefined ? named : [text, ...named];
  if (own !== undefined) added.push({ id: own, content: eos!, special: true });
  const turn = render && turnEnd(render, added, known);
  const size = config["vocab_size"] ?? textConfig(config)["vocab_size"];
  // No other id is ever an answer's next token.
  const isScored = (id?: number): id is number =>
    id !== undefined && (typeof size !== "number" || id < size);
  return { all: [...new Set([text, turn, ...named])].filter(isScored), turn };
}

/** As `transformers`, which reads `config.json` where there is no other file. */
function allNamed(
  config: Config,
  generation: Config | undefined,
  added: readonly AddedToken[],
): number[] {
  if (!generation) return namedEnds(config);
  const named = namedEnds(generation);
  // A config that somebody wrote anew often has a number that is another token here.
  const isAdded = (id: number) => added.some((token) => token.id === id);
  return named.length > 0 ? named : namedEnds(config).filter(isAdded);
}

/** The `eos_token_id` of a model's config: a number, or several. */
export function namedEnds(config: Config): number[] {
  const named = config["eos_token_id"] ?? textConfig(config)["eos_token_id"];
  const all: unknown[] = Array.isArray(named) ? named : [named];
  return all.filter((id): id is number => Number.isSafeInteger(id) && Number(id) >= 0);
}

function textConfig(config: Config): Config {
  return isRecord(config["text_config"]) ? config["text_config"] : {};
}

interface AddedToken {
  id: number;
  content: string;
  special: boolean;
}

/** Those of a `tokenizer.json`. */
function addedTokens({ added_tokens: added }: Record<string, unknown>): AddedToken[] {
  return (Array.isArray(added) ? added : []).filter(isRecord).flatMap((token) => {
    const { id, content, special } = token;
    const isToken = typeof id === "number" && typeof content === "string" && content !== "";
    return isToken ? [{ id, content, special: special === true }] : [];
  });
}

function idOf(tokenizer: Config, text: string): number | undefined {
  const added = addedTokens(tokenizer).find(({ content }) => content === text);
  if (added) return added.id;
  const vocab = isRecord(tokenizer["model"]) ? tokenizer["model"]["vocab"] : undefined;
  if (Array.isArray(vocab)) {
    const at = vocab.findIndex((entry: unknown) => Array.isArray(entry) && entry[0] === text);
    return at === -1 ? undefined : at;
  }
  const id = isRecord(vocab) && Object.hasOwn(vocab, text) ? vocab[text] : undefined;
  return typeof id === "number" ? id : undefined;
}

const QUESTION: Message = { role: "user", content: "a question" };
const ANSWER: Message = { role: "assistant", content: "an answer" };
const SYSTEM: Message = { role: "system", content: "a system message" };

/**
 * The first special token that the template writes after an answer, of which none is made; without
 * one, as some turns end where the next begins, the first after the answer before a question.
 */
function turnEnd(
  render: Render,
  added: readonly AddedToken[],
  known: readonly number[],
): number | undefined {
  const written = createTokenFinder(added);
  const isEnd = ({ id, special }: AddedToken) => special || known.includes(id);
  // Some templates demand one.
  const begin = tailOf(render, [QUESTION, ANSWER]) === undefined ? [SYSTEM] : [];
  const tail = tailOf(render, [...begin, QUESTION, ANSWER]);
  if (tail === undefined) return undefined;
  const last = written(tail);
  const end =
    last.find(isEnd) ??
    last.find(({ content }) => content.trim() !== "") ??
    written(tailOf(render, [...begin, QUESTION, ANSWER, QUESTION]) ?? "").find(isEnd);
  return end?.id;
}

/** What the template writes after the answer's words; undefined for one that refuses these messages. */
function tailOf(render: Render, messages: Message[]): string | undefined {
  const words = ANSWER.content ?? "";
  try {
    const text = render({ messages });
    const at = text.lastIndexOf(words);
    return at === -1 ? "" : text.slice(at + words.length);
  } catch (error) {
    // Rows that it refuses, too, say so.
    if (isKitError(error)) return undefined;
    throw error;
  }
}

/** Whether tokens end with one at which answers stop, but for white space. */
export function isEnded(
  tokens: ArrayLike<number>,
  { isEnd, bytesOf }: Pick<Tokenizer, "isEnd" | "bytesOf">,
): boolean {
  let at = tokens.length - 1;
  while (at >= 0 && !isEnd(tokens[at]!) && isBlank(bytesOf(tokens[at]!))) at--;
  return at >= 0 && isEnd(tokens[at]!);
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

/** Finds the tokens that a text spells, as tokenizers do: the first, and of these the longest. */
export function createTokenFinder<Token extends { content: string }>(
  tokens: readonly Token[],
): (text: string) => Token[] {
  const byText = new Map(tokens.map((token) => [token.content, token]));
  const any = patternOf([...byText.keys()]);
  return (text) =>
    any ? [...text.matchAll(any)].flatMap(([found]) => byText.get(found) ?? []) : [];
}

/** Matches any of the texts; undefined without one. */
function patternOf(texts: readonly string[]): RegExp | undefined {
  const longestFirst = texts.toSorted((a, b) => b.length - a.length);
  const escaped = longestFirst.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return escaped.length === 0 ? undefined : new RegExp(escaped.join("|"), "g");
}
