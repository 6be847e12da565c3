import type { Tokenizer } from "./tokenizer.ts";

/** Whether tokens end with one at which answers stop, but for white space. */
export function isEnded(
  tokens: ArrayLike<number>,
  { isEnd, bytesOf }: Pick<Tokenizer, "isEnd" | "bytesOf">,
): boolean {
  let at = tokens.length - 1;
  while (at >= 0 && !isEnd(tokens[at]!) && isBlank(bytesOf(tokens[at]!))) at--;
  return at >= 0 && isEnd(tokens[at]!);
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}
