import { isRecord } from "../../protocol/isRecord.ts";
import type { TokenText } from "./answerMask.ts";
import { byteCharacters } from "./byteTokens.ts";
import type { Library } from "./library.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A byte of text that the vocabulary lacks, as sentencepiece writes it. */
const BYTE = /^<0x[0-9A-F]{2}>$/;
/** Stands for a space in sentencepiece's vocabularies. */
const SPACE = /\u2581/g;
/** White space that byte-level offsets leave out; Ġ is a space. */
const LEADING = /^[\sĠ]+/;
const TRAILING = /[\sĠ]+$/;

/**
 * A text's tokens with their lengths, which the library does not tell: a token of a byte-level
 * vocabulary has a character for each byte.
 * @param file `tokenizer.json`
 */
export function createPieces(library: Library, file: Record<string, unknown>) {
  const isByteLevel = parts(file["decoder"]).some(({ type }) => type === "ByteLevel");
  const trims = parts(file["post_processor"]).some(
    ({ type, trim_offsets }) => type === "ByteLevel" && trim_offsets !== false,
  );
  const added = library.get_added_tokens_decoder();

  function pieceOf(id: number, token: string): TokenText {
    const bytes = bytesOf(id, token);
    if (!trims) return { id, bytes, before: 0, after: 0 };
    const before = LEADING.exec(token)?.[0].length ?? 0;
    const after = before === token.length ? 0 : (TRAILING.exec(token)?.[0].length ?? 0);
    return { id, bytes, before, after };
  }

  function bytesOf(id: number, token: string): number {
    if (added.has(id)) return Buffer.byteLength(token);
    if (isByteLevel) return token.length;
    return BYTE.test(token) ? 1 : Buffer.byteLength(token.replace(SPACE, " "));
  }

  return function pieces(text: string): TokenText[] {
    const { ids, tokens } = library.encode(text, { add_special_tokens: false });
    return ids.map((id, i) => pieceOf(id, tokens[i] ?? ""));
  };
}

/** The byte that each character of a byte-level vocabulary stands for. */
const BYTE_OF = new Map(byteCharacters().map((character, byte) => [character, byte]));

/**
 * What each token adds to an answer. A text is that of its tokens, one after another.
 * @param file `tokenizer.json`
 */
export function createTokenBytes(
  library: Library,
  file: Record<string, unknown>,
): Pick<Tokenizer, "bytesOf" | "dropsSpace"> {
  const decoders = parts(file["decoder"]);
  const has = (type: string) => decoders.some((one) => one["type"] === type);
  const isByteLevel = has("ByteLevel");
  const added = library.get_added_tokens_decoder();
  const known = new Map<number, Uint8Array>();

  function bytes(id: number): Uint8Array {
    const token = library.id_to_token(id) ?? "";
    if (added.has(id)) return Buffer.from(added.get(id)?.content ?? token);
    if (isByteLevel) {
      return Uint8Array.from(token, (character) => BYTE_OF.get(character) ?? 0x3f);
    }
    if (BYTE.test(token)) return Uint8Array.of(Number.parseInt(token.slice(3, 5), 16));
    // Without a decoder, the library writes a space between tokens.
    return Buffer.from(decoders.length > 0 ? token.replace(SPACE, " ") : ` ${token}`);
  }

  return {
    bytesOf(id) {
      const found = known.get(id) ?? bytes(id);
      known.set(id, found);
      return found;
    },
    dropsSpace: decoders.length === 0 || has("Metaspace") || has("Strip"),
  };
}

/** A decoder or post-processor, and those in it. */
function parts(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = value["decoders"] ?? value["processors"];
  return [value, ...(Array.isArray(inner) ? inner.flatMap(parts) : [])];
}
