import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type AddedToken, createAddedTokens } from "./pipeline/addedTokens.ts";
import {
  type Config,
  type Token,
  Unsupported,
  optionalComponent,
  components,
  unknownType,
} from "./pipeline/config.ts";
import { type Decoder, createDecoder, cleanUpSpaces } from "./pipeline/decoder.ts";
import { type ByteLength, createModel } from "./pipeline/model.ts";
import { createNormalizer } from "./pipeline/normalizer.ts";
import { createPreTokenizer } from "./pipeline/preTokenizer.ts";

/** The pipeline of a `tokenizer.json`, compatible with Hugging Face's tokenizers. */
export interface TokenizerPipeline {
  encode: (text: string, withSpecials: boolean) => Token[];
  decode: (ids: readonly number[], skipsSpecials: boolean) => string;
  /** UTF-8 that a token adds, except at a text's start. */
  bytesOf: (id: number) => Uint8Array;
  /** Whether decoding drops a text's leading space. */
  dropsSpace: boolean;
  idOf: (token: string) => number | undefined;
  tokenOf: (id: number) => string | undefined;
  added: ReadonlyMap<number, AddedToken>;
}

/**
 * @param path of `tokenizer.json`, for errors
 * @throws KitError `CHECKPOINT_INVALID` for a file that is damaged or needs unsupported features
 */
export function createPipeline(path: string, file: Config): TokenizerPipeline {
  const orInvalid = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw invalidFile(path, cause);
    }
  };
  const { encode, ...pipeline } = orInvalid(() => openPipeline(file));
  return { ...pipeline, encode: (...args) => orInvalid(() => encode(...args)) };
}

function openPipeline(file: Config): TokenizerPipeline {
  const { version = "1.0" } = file;
  if (version !== "1.0") throw new Unsupported(`the version ${JSON.stringify(version)}`);
  const model = createModel(file, byteLengthOf(file));
  const normalize = createNormalizer(file);
  const added = createAddedTokens(file, model, normalize);
  const split = createPreTokenizer(file);
  const process = createPostProcessor(file);
  const decoder = createDecoder(file);
  const specials = new Set(
    [...added.byId.values()].flatMap(({ special, content }) => (special ? [content] : [])),
  );

  /** The token as the decoder expects it. */
  function inputOf(id: number): string | undefined {
    const token = added.byId.get(id);
    return token ? added.normalizedText(token) : model.tokenOf(id);
  }

  return {
    ...tokenBytes(decoder, inputOf),
    encode(text, withSpecials) {
      const tokens = added
        .split(text)
        .flatMap((part) =>
          "id" in part ? [part] : split(part).flatMap((preToken) => model.tokens(preToken.text)),
        );
      return process(tokens, withSpecials);
    },
    decode(ids, skipsSpecials) {
      const tokens = ids.flatMap((id) => inputOf(id) ?? []);
      return decoder.text(skipsSpecials ? tokens.filter((token) => !specials.has(token)) : tokens);
    },
    idOf: (token) => added.idOf(token) ?? model.idOf(token),
    tokenOf: (id) => added.byId.get(id)?.content ?? model.tokenOf(id),
    added: added.byId,
  };
}

/** Caches the bytes of each token. */
function tokenBytes({ bytesOf, dropsSpace }: Decoder, inputOf: (id: number) => string | undefined) {
  const cached = new Map<number, Uint8Array>();
  return {
    dropsSpace,
    bytesOf(id: number): Uint8Array {
      const found = cached.get(id) ?? bytesOf(inputOf(id) ?? "");
      cached.set(id, found);
      return found;
    },
  };
}

/** The bytes of text that each character of a pre-token stands for. */
function byteLengthOf(file: Config): ByteLength {
  const steps = [
    optionalComponent(file, "normalizer"),
    optionalComponent(file, "pre_tokenizer"),
  ].flatMap((part) => (part ? stepsOf(part) : []));
  const isByteLevel = steps.some(({ type }) => type === "ByteLevel");
  if (isByteLevel) return () => 1;
  // SentencePiece's space.
  return (character) => (character === "\u2581" ? 1 : Buffer.byteLength(character));
}

/** A step and those nested in it. */
function stepsOf(part: Config): Config[] {
  const key = ["normalizers", "pretokenizers"].find((name) => name in part);
  return key === undefined ? [part] : components("pipeline", part, key).flatMap(stepsOf);
}

function invalidFile(path: string, cause: unknown): unknown {
  if (isKitError(cause)) return cause;
  const message =
    cause instanceof Unsupported
      ? `${path} has ${cause.message}, which Kit doesn't support. Use engine: python(), or another model.`
      : `${path} cannot be read: ${messageOf(cause)}. Save or download it again.`;
  return new KitError("CHECKPOINT_INVALID", message, { cause });
}

/** Whether decoding removes spaces before punctuation: as in `transformers`, except for BPE, which needs the spaces. */
export function hasSpaceCleanup(file: Config, config: Config): boolean {
  const { model } = file as { model?: { type?: unknown } };
  return config["clean_up_tokenization_spaces"] === true && model?.type !== "BPE";
}

export { cleanUpSpaces };

/** Adds special tokens to a text's tokens. */
export type PostProcess = (tokens: Token[], withSpecials: boolean) => Token[];

/** @param file `tokenizer.json` */
function createPostProcessor(file: Config): PostProcess {
  const part = optionalComponent(file, "post_processor");
  return part ? processOf(part) : (tokens) => tokens;
}

function processOf(part: Config): PostProcess {
  const { type } = part;
  if (type === "Sequence") {
    const all = components("post_processor", part, "processors").map(processOf);
    return (tokens, withSpecials) => all.reduce((done, next) => next(done, withSpecials), tokens);
  }
  // It only changes offsets.
  if (type === "ByteLevel") return (tokens) => tokens;
  if (type === "TemplateProcessing") return template(part);
  throw unknownType("post_processor", part);
}

function template({ single, special_tokens: specials }: Config): PostProcess {
  const items = (Array.isArray(single) ? single : [undefined]).map((item: unknown) => {
    const { Sequence: sequence, SpecialToken: special } = isRecord(item) ? item : {};
    if (isRecord(sequence) && sequence["id"] === "A") return "text";
    const { id } = isRecord(special) ? special : {};
    const known = isRecord(specials) && typeof id === "string" ? specials[id] : undefined;
    if (isRecord(known) && isIds(known["ids"])) {
      return known["ids"].map((one): Token => ({ id: one, token: String(id), bytes: 0 }));
    }
    throw new Error(`its post_processor has the item ${JSON.stringify(item)}`);
  });
  return (tokens, withSpecials) =>
    items.flatMap((item) => (item === "text" ? tokens : withSpecials ? item : []));
}

function isIds(ids: unknown): ids is number[] {
  return Array.isArray(ids) && ids.every(Number.isInteger);
}
