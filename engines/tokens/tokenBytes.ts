import { isRecord } from "../../protocol/isRecord.ts";
import type { TokenText } from "./answerMask.ts";
import type { Library } from "./library.ts";

/** White space that byte-level offsets leave out; Ġ is a space. */
const LEADING = /^[\sĠ]+/;
const TRAILING = /[\sĠ]+$/;

/**
 * A text's tokens with their lengths, and the white space that their offsets leave out.
 * @param file `tokenizer.json`
 */
export function createPieces(library: Library, file: Record<string, unknown>) {
  const trims = processorsOf(file["post_processor"]).some(
    ({ type, trim_offsets }) =>
      (type === "ByteLevel" || type === "RobertaProcessing") && trim_offsets !== false,
  );

  return function pieces(text: string): TokenText[] {
    return library.encode(text, false).map(({ id, token, bytes }) => {
      if (!trims) return { id, bytes, before: 0, after: 0 };
      const before = LEADING.exec(token)?.[0].length ?? 0;
      const after = before === token.length ? 0 : (TRAILING.exec(token)?.[0].length ?? 0);
      return { id, bytes, before, after };
    });
  };
}

/** A post-processor, and those in it. */
function processorsOf(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = value["processors"];
  return [value, ...(Array.isArray(inner) ? inner.flatMap(processorsOf) : [])];
}
