type Encode = (text: string, withSpecials: boolean) => number[];

/** The special tokens that surround every text; undefined if a text's own tokens change beside them. */
export function tokensAround(encode: Encode): { before: number[]; after: number[] } | undefined {
  const [whole, text] = [encode("a", true), encode("a", false)];
  const start = whole.findIndex((_, i) => text.every((id, j) => whole[i + j] === id));
  if (start === -1) return undefined;
  return { before: whole.slice(0, start), after: whole.slice(start + text.length) };
}

/**
 * Encodes texts with special tokens around them. A text that already has them, from a chat template, gets no
 * second ones.
 */
export function createTextEncoder(encode: Encode): (text: string) => number[] {
  let around: ReturnType<typeof tokensAround>;
  return (text) => {
    const { before, after } = (around ??= tokensAround(encode) ?? { before: [], after: [] });
    const ids = encode(text, true);
    const repeatsBefore =
      before.length > 0 && before.every((id, i) => ids[before.length + i] === id);
    const last = ids.length - 2 * after.length;
    const repeatsAfter = after.length > 0 && after.every((id, i) => ids[last + i] === id);
    return ids.slice(repeatsBefore ? before.length : 0, repeatsAfter ? -after.length : undefined);
  };
}
