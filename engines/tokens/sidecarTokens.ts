import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../protocol/isRecord.ts";
import { mapValues } from "../../protocol/json.ts";
import { type AddedToken, addedTokens } from "./pipeline/addedTokens.ts";

type Config = Record<string, unknown>;

/** Files beside `tokenizer.json` that may add tokens. */
export interface SidecarFiles {
  /** `tokenizer_config.json`. */
  config: Config;
  /** `special_tokens_map.json`. */
  specials?: Config | undefined;
  /** `added_tokens.json`: ids by texts. */
  added?: Config | undefined;
}

type NewToken = Omit<AddedToken, "id">;

/** Keys of unnamed special tokens: of `transformers` 5, then of older versions. */
const EXTRA = "extra_special_tokens";
const ADDITIONAL = "additional_special_tokens";
/** Key of special tokens that the model names itself. */
const NAMED_EXTRA = "model_specific_special_tokens";

/** Names of special tokens in the order `transformers` adds them. */
const NAMES = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"].map((name) => `${name}_token`);

/**
 * Merges the added tokens of the sidecar files into `tokenizer.json`, with the ids that `transformers`
 * assigns: new tokens come after the vocabulary.
 */
export function withSidecarTokens(tokenizer: Config, sidecars: SidecarFiles): Config {
  const own = tokenizer["added_tokens"] ?? [];
  if (!Array.isArray(own) || !own.every(isRecord)) return tokenizer;
  try {
    return withAddedTokens(tokenizer, own, sidecars);
  } catch {
    // A damaged file is reported when the tokenizer is opened.
    return tokenizer;
  }
}

function withAddedTokens(tokenizer: Config, own: Config[], sidecars: SidecarFiles): Config {
  const specials = specialTokensMap(sidecars);
  const settings = settingsOf(sidecars, specials);
  const listed = listedTokens({ ...sidecars, specials }, settings, own);
  const vocabulary = vocabularyOf(tokenizer);
  const existing = [...addedTokens(tokenizer, vocabulary).values()];
  const tokens = [...listed];
  const texts = new Set([...existing, ...listed].map(({ content }) => content));
  for (const token of namedTokens(settings, listed)) {
    if (!texts.has(token.content)) tokens.push(token);
    texts.add(token.content);
  }
  const names = new Set(namedTexts(settings));
  const all = tokens.map((token) => ({
    ...token,
    special: token.special || names.has(token.content),
  }));
  const whole = { ...tokenizer, added_tokens: [...existing, ...all] };
  const added = [...addedTokens(whole, vocabulary).values()];
  const isSame = isDeepStrictEqual(added, existing);
  return isSame && added.every(({ id }, i) => id === own[i]?.["id"])
    ? tokenizer
    : { ...tokenizer, added_tokens: added };
}

/**
 * As in `transformers`, `special_tokens_map.json` applies unless the config lists added tokens by id.
 */
function settingsOf({ config }: SidecarFiles, specials: Config): Config {
  const settings: Config = { ...config };
  const isEmpty = (value: unknown) => !value || (Array.isArray(value) && value.length === 0);
  if (ADDITIONAL in settings && isEmpty(settings[EXTRA])) {
    settings[EXTRA] = settings[ADDITIONAL];
    delete settings[ADDITIONAL];
  }
  nameExtra(settings);
  if (isRecord(config["added_tokens_decoder"])) return settings;
  const { [EXTRA]: extra } = specials;
  const more = Array.isArray(extra) ? [...listOf(settings[EXTRA]), ...(extra as unknown[])] : extra;
  const merged = { ...settings, ...specials, ...(more !== undefined && { [EXTRA]: more }) };
  nameExtra(merged);
  return merged;
}

/** Moves extra tokens given as an object to the named ones. */
function nameExtra(settings: Config): void {
  const { [EXTRA]: extra, [NAMED_EXTRA]: named } = settings;
  if (!isRecord(extra)) return;
  settings[NAMED_EXTRA] = { ...(isRecord(named) && named), ...extra };
  delete settings[EXTRA];
}

/** `special_tokens_map.json`, whose objects are implicitly special. */
function specialTokensMap({ specials = {} }: SidecarFiles): Config {
  const markSpecial = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(markSpecial);
    return isRecord(value) && "content" in value ? { ...value, special: true } : value;
  };
  return mapValues(specials, markSpecial);
}

/** The unnamed tokens. */
function extraTokens(settings: Config): unknown[] {
  return listOf(settings[EXTRA] === undefined ? settings[ADDITIONAL] : settings[EXTRA]);
}

/** Tokens listed with ids, in order of id. */
function listedTokens(
  { config, specials, added }: SidecarFiles,
  settings: Config,
  own: Config[],
): NewToken[] {
  const decoder = config["added_tokens_decoder"];
  const byId = new Map<number, NewToken>();
  if (isRecord(decoder)) {
    for (const [id, token] of Object.entries(decoder)) {
      const found = tokenOf(token);
      if (found) byId.set(Number(id), found);
    }
  } else {
    const special = new Set(specialTexts(settings, specials));
    for (const [content, id] of Object.entries(added ?? {})) {
      const found = tokenOf({ content, special: special.has(content) });
      if (found) byId.set(Number(id), found);
    }
    for (const token of own) {
      const found = tokenOf(token);
      if (found) byId.set(Number(token["id"]), found);
    }
  }
  return [...byId].sort(([a], [b]) => a - b).map(([, token]) => token);
}

/** Named tokens, then the others. */
function namedTokens(settings: Config, listed: readonly NewToken[]): NewToken[] {
  const known = new Map(listed.map((token) => [token.content, token]));
  const named = namedValues(settings).map((value) => {
    const token = tokenOf(value);
    return token && (known.get(token.content) ?? token);
  });
  const extra = extraTokens(settings).map(tokenOf);
  return [...named, ...extra].filter((token) => token !== undefined);
}

function namedTexts(settings: Config): string[] {
  return namedValues(settings).flatMap((value) => tokenOf(value)?.content ?? []);
}

/** Texts of special tokens given as text, or as objects of `special_tokens_map.json`. */
function specialTexts(settings: Config, specials: Config = {}): string[] {
  const values = [...NAMES.map((name) => settings[name]), ...listOf(settings[EXTRA])];
  const fromMap = new Set([...Object.values(specials), ...listOf(specials[EXTRA])]);
  return values.flatMap((value) =>
    typeof value === "string" || fromMap.has(value) ? (tokenOf(value)?.content ?? []) : [],
  );
}

/** Values of named special tokens, those with the usual names first. */
function namedValues(settings: Config): unknown[] {
  const { [NAMED_EXTRA]: named } = settings;
  const others = Object.keys(settings).filter(
    (name) => name.endsWith("_token") && !NAMES.includes(name) && tokenOf(settings[name]),
  );
  const values = [...NAMES, ...others].map((name) => settings[name]);
  return [...values, ...(isRecord(named) ? Object.values(named) : [])];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Parses a token: a text, or an object with options. */
function tokenOf(value: unknown): NewToken | undefined {
  const token = typeof value === "string" ? { content: value, special: true } : value;
  if (!isRecord(token) || typeof token["content"] !== "string" || token["content"] === "")
    return undefined;
  const special = token["special"] === true;
  return {
    content: token["content"],
    single_word: token["single_word"] === true,
    lstrip: token["lstrip"] === true,
    rstrip: token["rstrip"] === true,
    normalized: typeof token["normalized"] === "boolean" ? token["normalized"] : !special,
    special,
  };
}

/** The model's vocabulary without added tokens. */
function vocabularyOf({ model }: Config) {
  const vocab = isRecord(model) ? model["vocab"] : undefined;
  if (Array.isArray(vocab)) {
    const ids = new Map(vocab.map((entry: unknown, id) => [listOf(entry)[0], id]));
    return { idOf: (text: string) => ids.get(text), size: vocab.length };
  }
  const ids = isRecord(vocab) ? vocab : {};
  const idOf = (text: string) => (Object.hasOwn(ids, text) ? Number(ids[text]) : undefined);
  return { idOf, size: Object.keys(ids).length };
}
