import type { Message } from "../../protocol/chat.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type Render, tryRender } from "./chatTemplate.ts";
import type { Tokenizer } from "./tokenizer.ts";

type Config = Record<string, unknown>;

/** The files that define a model's stop tokens. */
export interface StopTokenFiles {
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

/** Token ids at which answers stop. */
export interface StopTokens {
  /** First the end of a text, then the end of a turn, then others. */
  all: readonly number[];
  /** The chat template's end of turn. */
  turn: number | undefined;
}

/**
 * The tokenizer's `eos_token`, the chat template's end of turn, and the ids in `generation_config.json`
 * or else `config.json`. A base model's `eos_token` often differs from what its template writes.
 */
export function findStopTokens({
  tokenizer,
  eos,
  config,
  generation,
  render,
}: StopTokenFiles): StopTokens {
  const added = addedTokens(tokenizer);
  const eosId = eos === undefined ? undefined : idOf(tokenizer, eos);
  const named = configStopTokens(config, generation, added);
  const text = eosId ?? named[0];
  const known = text === undefined ? named : [text, ...named];
  if (eosId !== undefined) added.push({ id: eosId, content: eos!, special: true });
  const turn = render && turnStopToken(render, added, known);
  const size = config["vocab_size"] ?? textConfig(config)["vocab_size"];
  // Ids beyond the logits are never generated.
  const isScored = (id?: number): id is number =>
    id !== undefined && (typeof size !== "number" || id < size);
  return { all: [...new Set([text, turn, ...named])].filter(isScored), turn };
}

/** As in `transformers`, which falls back to `config.json`. */
function configStopTokens(
  config: Config,
  generation: Config | undefined,
  added: readonly AddedToken[],
): number[] {
  if (!generation) return namedStopTokens(config);
  const named = namedStopTokens(generation);
  // Tools that rewrite config.json often leave another tokenizer's id in it.
  const isAdded = (id: number) => added.some((token) => token.id === id);
  return named.length > 0 ? named : namedStopTokens(config).filter(isAdded);
}

/** The ids of a config's `eos_token_id`, a number or a list. */
export function namedStopTokens(config: Config): number[] {
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

/** The added tokens of a `tokenizer.json`. */
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
    const id = vocab.findIndex((entry: unknown) => Array.isArray(entry) && entry[0] === text);
    return id === -1 ? undefined : id;
  }
  const id = isRecord(vocab) && Object.hasOwn(vocab, text) ? vocab[text] : undefined;
  return typeof id === "number" ? id : undefined;
}

const QUESTION: Message = { role: "user", content: "a question" };
const ANSWER: Message = { role: "assistant", content: "an answer" };
const SYSTEM: Message = { role: "system", content: "a system message" };

/**
 * The first special token that the template writes after an answer; without one, the first between an
 * answer and the next question, since some templates only mark where turns begin.
 */
function turnStopToken(
  render: Render,
  added: readonly AddedToken[],
  known: readonly number[],
): number | undefined {
  const tokensIn = createTokenFinder(added);
  const isStopToken = ({ id, special }: AddedToken) => special || known.includes(id);
  // Some templates require a system message.
  const begin = tailOf(render, [QUESTION, ANSWER]) === undefined ? [SYSTEM] : [];
  const tail = tailOf(render, [...begin, QUESTION, ANSWER]);
  if (tail === undefined) return undefined;
  const last = tokensIn(tail);
  const end =
    last.find(isStopToken) ??
    last.find(({ content }) => content.trim() !== "") ??
    tokensIn(tailOf(render, [...begin, QUESTION, ANSWER, QUESTION]) ?? "").find(isStopToken);
  return end?.id;
}

/** What the template writes after the answer's text; undefined if it refuses the messages. */
function tailOf(render: Render, messages: Message[]): string | undefined {
  const answer = ANSWER.content ?? "";
  const text = tryRender(render, { messages });
  if (text === undefined) return undefined;
  const start = text.lastIndexOf(answer);
  return start === -1 ? "" : text.slice(start + answer.length);
}

/** Whether tokens end with a stop token, ignoring trailing white space. */
export function endsWithStopToken(
  tokens: ArrayLike<number>,
  { isStopToken, bytesOf }: Pick<Tokenizer, "isStopToken" | "bytesOf">,
): boolean {
  let at = tokens.length - 1;
  while (at >= 0 && !isStopToken(tokens[at]!) && isBlank(bytesOf(tokens[at]!))) at--;
  return at >= 0 && isStopToken(tokens[at]!);
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

/** Finds tokens in a text as tokenizers do: at each position, the longest that starts there. */
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
