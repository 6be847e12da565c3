import { type Config, type Token, countOf, textOf } from "./config.ts";
import { type ByteLength, type Model, sumOf, unknownIdOf, vocabularyOf } from "./model.ts";

/** WordPiece: greedily takes the longest prefix that is a token. */
export function createWordPiece(model: Config, byteLength: ByteLength): Model {
  const vocabulary = vocabularyOf(model);
  const token = textOf(model, "unk_token");
  const unknown = { id: unknownIdOf(token, vocabulary.idOf), token };
  const prefix = textOf(model, "continuing_subword_prefix");
  const maxLength = countOf(model, "max_input_chars_per_word");

  function longestTokenAt(
    characters: readonly string[],
    from: number,
  ): (Token & { to: number }) | undefined {
    for (let to = characters.length; to > from; to--) {
      const part = characters.slice(from, to);
      const token = (from > 0 ? prefix : "") + part.join("");
      const id = vocabulary.idOf(token);
      if (id !== undefined) return { id, token, bytes: sumOf(part, byteLength), to };
    }
    return undefined;
  }

  return {
    ...vocabulary,
    tokens(text) {
      const characters = [...text];
      const whole = [{ ...unknown, bytes: sumOf(characters, byteLength) }];
      if (characters.length > maxLength) return whole;
      const found: Token[] = [];
      for (let from = 0; from < characters.length;) {
        const next = longestTokenAt(characters, from);
        if (!next) return whole;
        const { to, ...token } = next;
        found.push(token);
        from = to;
      }
      return found;
    },
  };
}
