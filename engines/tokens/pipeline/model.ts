import { isRecord } from "../../../protocol/isRecord.ts";
import { createBpe } from "./bpe.ts";
import { type Config, type Token, unknownType } from "./parts.ts";
import { createUnigram } from "./unigram.ts";
import { createWordPiece } from "./wordPiece.ts";

/** Makes tokens of pieces. */
export interface Model {
  tokens: (piece: string) => Token[];
  idOf: (token: string) => number | undefined;
  tokenOf: (id: number) => string | undefined;
  /** A count of texts. */
  size: number;
}

/** Bytes of a character of a piece. */
export type Measure = (character: string) => number;

/** @param file `tokenizer.json` */
export function createModel({ model }: Config, measure: Measure): Model {
  if (!isRecord(model)) throw new Error("its model is not an object");
  const type = model["type"] ?? olderType(model);
  if (type === "BPE") return createBpe(model, measure);
  if (type === "Unigram") return createUnigram(model, measure);
  if (type === "WordPiece") return createWordPiece(model, measure);
  throw unknownType("model", model);
}

/** Files of old do not name it. */
function olderType(model: Config): string | undefined {
  if (Array.isArray(model["vocab"])) return "Unigram";
  if ("merges" in model) return "BPE";
  return "max_input_chars_per_word" in model ? "WordPiece" : "WordLevel";
}

/** One more would no longer fit into a pair of them. */
const MOST_IDS = 2 ** 26;

/** The ids of a vocabulary that is an object. */
export function vocabularyOf({ vocab }: Config): Pick<Model, "idOf" | "tokenOf" | "size"> {
  const ids = new Map<string, number>();
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(isRecord(vocab) ? vocab : { "": -1 })) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0 || id >= MOST_IDS) {
      throw new Error('the "vocab" of its model is not an object of ids');
    }
    // Which of them an answer has is chance, with Hugging Face's tokenizers.
    if (id in tokens) throw new Error(`two tokens of its vocabulary have the id ${id}`);
    ids.set(token, id);
    tokens[id] = token;
  }
  return { idOf: (token) => ids.get(token), tokenOf: (id) => tokens[id], size: ids.size };
}

export function sumOf(characters: Iterable<string>, measure: Measure): number {
  let sum = 0;
  for (const character of characters) sum += measure(character);
  return sum;
}
