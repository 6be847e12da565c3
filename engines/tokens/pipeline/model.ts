import { isRecord } from "../../../protocol/isRecord.ts";
import { createBpe } from "./bpe.ts";
import { type Config, type Token, Unsupported, unknownType } from "./config.ts";
import { createUnigram } from "./unigram.ts";
import { createWordPiece } from "./wordPiece.ts";

/** Converts pre-tokens to tokens. */
export interface Model {
  tokens: (text: string) => Token[];
  idOf: (token: string) => number | undefined;
  tokenOf: (id: number) => string | undefined;
  /** Vocabulary size. */
  size: number;
}

/** Bytes of text that a character of a pre-token stands for. */
export type ByteLength = (character: string) => number;

/** @param file `tokenizer.json` */
export function createModel({ model }: Config, byteLength: ByteLength): Model {
  if (!isRecord(model)) throw new Error("its model is not an object");
  const type = model["type"] ?? olderType(model);
  if (type === "BPE") return createBpe(model, byteLength);
  if (type === "Unigram") return createUnigram(model, byteLength);
  if (type === "WordPiece") return createWordPiece(model, byteLength);
  throw unknownType("model", model);
}

/** The model type of older files, which don't name it. */
function olderType(model: Config): string | undefined {
  if (Array.isArray(model["vocab"])) return "Unigram";
  if ("merges" in model) return "BPE";
  return "max_input_chars_per_word" in model ? "WordPiece" : "WordLevel";
}

/** A limit, since pairs of ids are stored as one double. */
const ID_LIMIT = 2 ** 26;

/** A vocabulary given as an object of ids. */
export function vocabularyOf({ vocab }: Config): Pick<Model, "idOf" | "tokenOf" | "size"> {
  const ids = new Map<string, number>();
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(isRecord(vocab) ? vocab : { "": -1 })) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= ID_LIMIT) {
      throw new Error('the "vocab" of its model is not an object of ids');
    }
    // Hugging Face's tokenizers would pick one at random.
    if (id in tokens) throw new Error(`two tokens of its vocabulary have the id ${id}`);
    ids.set(token, id);
    tokens[id] = token;
  }
  return { idOf: (token) => ids.get(token), tokenOf: (id) => tokens[id], size: ids.size };
}

/** The unknown token's id. @throws Unsupported if the vocabulary lacks it */
export function unknownIdOf(token: string, idOf: Model["idOf"]): number {
  const id = idOf(token);
  if (id !== undefined) return id;
  throw new Unsupported(`the "unk_token" ${JSON.stringify(token)}, which its vocabulary lacks`);
}

export function sumOf(characters: Iterable<string>, byteLength: ByteLength): number {
  let sum = 0;
  for (const character of characters) sum += byteLength(character);
  return sum;
}
