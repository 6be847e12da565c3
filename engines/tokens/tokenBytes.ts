import { isRecord } from "../../protocol/isRecord.ts";
import type { TokenText } from "./answerMask.ts";
import type { Library } from "./library.ts";

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

/** A decoder or post-processor, and those in it. */
function parts(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = value["decoders"] ?? value["processors"];
  return [value, ...(Array.isArray(inner) ? inner.flatMap(parts) : [])];
}
