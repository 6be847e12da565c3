import { isRecord } from "../../protocol/isRecord.ts";
import type { TokenText } from "./answerMask.ts";
import type { TokenizerPipeline } from "./pipeline.ts";

/** White space that byte-level offsets exclude; Ġ is a space. */
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
      if (!trims) return { id, bytes, before: 0, after: 0 };
      const before = LEADING.exec(token)?.[0].length ?? 0;
      const after = before === token.length ? 0 : (TRAILING.exec(token)?.[0].length ?? 0);
      return { id, bytes, before, after };
    });
  };
}

/** A post-processor with its nested ones. */
function processorsOf(value: unknown): Record<string, unknown>[] {
  if (!isRecord(value)) return [];
  const inner = value["processors"];
  return [value, ...(Array.isArray(inner) ? inner.flatMap(processorsOf) : [])];
}
