import { isRecord } from "../../protocol/isRecord.ts";
import type { TokenText } from "./answerMask.ts";
import type { TokenizerPipeline } from "./pipeline.ts";

/** White space that byte-level offsets exclude. Ġ is a space in byte-level vocabularies. */
const LEADING = /^[\sĠ]+/;
const TRAILING = /[\sĠ]+$/;

/**
 * Encodes texts to tokens with their lengths and the white space that their offsets exclude.
 * @param file `tokenizer.json`
 */
export function createTokenTexts(pipeline: TokenizerPipeline, file: Record<string, unknown>) {
  const trims = processorsOf(file["post_processor"]).some(
    ({ type, trim_offsets }) =>
      (type === "ByteLevel" || type === "RobertaProcessing") && trim_offsets !== false,
  );

  return function tokenTexts(text: string): TokenText[] {
    return pipeline.encode(text, false).map(({ id, token, bytes }) => {
      if (!trims) return { id, bytes, leading: 0, trailing: 0 };
      const leading = LEADING.exec(token)?.[0].length ?? 0;
      const trailing = leading === token.length ? 0 : (TRAILING.exec(token)?.[0].length ?? 0);
      return { id, bytes, leading, trailing };
    });
  };
}

/** A post-processor and those nested in it. */
function processorsOf(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = value["processors"];
  return [value, ...(Array.isArray(inner) ? inner.flatMap(processorsOf) : [])];
}
