import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { type AddedToken, createAddedTokens } from "./pipeline/addedTokens.ts";
import { type Decoder, createDecoder, withoutSpaces } from "./pipeline/decoder.ts";
import { type Measure, createModel } from "./pipeline/model.ts";
import { createNormalizer } from "./pipeline/normalizer.ts";
import {
  type Config,
  type Token,
  UnknownPart,
  optionalPart,
  partsOf,
  unknownType,
} from "./pipeline/parts.ts";
import { createPreTokenizer } from "./pipeline/preTokenizer.ts";

/** What `tokenizer.json` describes, as Hugging Face's tokenizers does it. */
export interface Library {
  encode: (text: string, withSpecials: boolean) => Token[];
  decode: (ids: readonly number[], skipsSpecials: boolean) => string;
  /** What a token adds to a text that has begun, and whether a text drops the space it begins with. */
  bytesOf: (id: number) => Uint8Array;
  dropsSpace: boolean;
  idOf: (token: string) => number | undefined;
  tokenOf: (id: number) => string | undefined;
  added: ReadonlyMap<number, AddedToken>;
}

/**
 * @param path of `tokenizer.json`, for errors
 * @throws KitError `CHECKPOINT_INVALID` for a file that is damaged, or that asks for what Kit does not do
 */
export function createLibrary(path: string, file: Config): Library {
  const orRefused = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw refusal(path, cause);
    }
  };
  const { encode, ...library } = orRefused(() => openLibrary(file));
  return { ...library, encode: (...asked) => orRefused(() => encode(...asked)) };
}

function openLibrary(file: Config): Library {
  const { version = "1.0" } = file;
  if (version !== "1.0") throw new UnknownPart(`the version ${JSON.stringify(version)}`);
  const model = createModel(file, measureOf(file));
  const normalize = createNormalizer(file);
  const added = createAddedTokens(file, model, normalize);
  const cut = createPreTokenizer(file);
  const process = createPostProcessor(file);
  const decoder = createDecoder(file);
  const specials = new Set(
    [...added.byId.values()].flatMap(({ special, content }) => (special ? [content] : [])),
  );

  /** As the decoder gets it. */
  function written(id: number): string | undefined {
    const token = added.byId.get(id);
    return token ? added.writtenOf(token) : model.tokenOf(id);
  }

  return {
    ...tokenTexts(decoder, written),
    encode(text, withSpecials) {
      const tokens = added
        .cut(text)
        .flatMap((part) =>
          "id" in part ? [part] : cut(part).flatMap((one) => model.tokens(one.text)),
        );
      return process(tokens, withSpecials);
    },
    decode(ids, skipsSpecials) {
      const tokens = ids.flatMap((id) => written(id) ?? []);
      return decoder.text(skipsSpecials ? tokens.filter((one) => !specials.has(one)) : tokens);
    },
    idOf: (token) => added.idOf(token) ?? model.idOf(token),
    tokenOf: (id) => added.byId.get(id)?.content ?? model.tokenOf(id),
    added: added.byId,
  };
}

/** The bytes of each token, made once. */
function tokenTexts({ bytesOf, dropsSpace }: Decoder, written: (id: number) => string | undefined) {
  const known = new Map<number, Uint8Array>();
  return {
    dropsSpace,
    bytesOf(id: number): Uint8Array {
      const found = known.get(id) ?? bytesOf(written(id) ?? "");
      known.set(id, found);
      return found;
    },
  };
}

/** How many bytes of a text a character of a piece stands for. */
function measureOf(file: Config): Measure {
  const steps = [optionalPart(file, "normalizer"), optionalPart(file, "pre_tokenizer")].flatMap(
    (part) => (part ? stepsOf(part) : []),
  );
  const isByteLevel = steps.some(({ type }) => type === "ByteLevel");
  if (isByteLevel) return () => 1;
  // Sentencepiece's mark of a space.
  return (character) => (character === "\u2581" ? 1 : Buffer.byteLength(character));
}

/** A step, and those in it. */
function stepsOf(part: Config): Config[] {
  const key = ["normalizers", "pretokenizers"].find((name) => name in part);
  return key === undefined ? [part] : partsOf("pipeline", part, key).flatMap(stepsOf);
}

function refusal(path: string, cause: unknown): unknown {
  if (isKitError(cause)) return cause;
  const said =
    cause instanceof UnknownPart
      ? `${path} has ${cause.message}, which Kit does not do as Hugging Face's tokenizers does. Use engine: python(), or another model.`
      : `${path} cannot be read: ${messageOf(cause)}. Save or download it again.`;
  return new KitError("CHECKPOINT_INVALID", said, { cause });
}

/** As `transformers` does it for all but byte-pair encoding, where it takes spaces away that belong there. */
export function cleansSpaces(file: Config, config: Config): boolean {
  const { model } = file as { model?: { type?: unknown } };
  return config["clean_up_tokenization_spaces"] === true && model?.type !== "BPE";
}

export { withoutSpaces };

/** The tokens of a text with the special ones that belong to it. */
export type PostProcess = (tokens: Token[], withSpecials: boolean) => Token[];

/** @param file `tokenizer.json` */
function createPostProcessor(file: Config): PostProcess {
  const part = optionalPart(file, "post_processor");
  return part ? processOf(part) : (tokens) => tokens;
}

function processOf(part: Config): PostProcess {
  const { type } = part;
  if (type === "Sequence") {
    const all = partsOf("post_processor", part, "processors").map(processOf);
    return (tokens, withSpecials) => all.reduce((left, one) => one(left, withSpecials), tokens);
  }
  // It changes offsets alone.
  if (type === "ByteLevel") return (tokens) => tokens;
  if (type === "TemplateProcessing") return template(part);
  throw unknownType("post_processor", part);
}

function template({ single, special_tokens: specials }: Config): PostProcess {
  const pieces = (Array.isArray(single) ? single : [undefined]).map((piece: unknown) => {
    const { Sequence: sequence, SpecialToken: special } = isRecord(piece) ? piece : {};
    if (isRecord(sequence) && sequence["id"] === "A") return "text";
    const { id } = isRecord(special) ? special : {};
    const known = isRecord(specials) && typeof id === "string" ? specials[id] : undefined;
    if (isRecord(known) && isIds(known["ids"])) {
      return known["ids"].map((one): Token => ({ id: one, token: String(id), bytes: 0 }));
    }
    throw new Error(`its post_processor has the piece ${JSON.stringify(piece)}`);
  });
  return (tokens, withSpecials) =>
    pieces.flatMap((piece) => (piece === "text" ? tokens : withSpecials ? piece : []));
}

function isIds(ids: unknown): ids is number[] {
  return Array.isArray(ids) && ids.every(Number.isInteger);
}
