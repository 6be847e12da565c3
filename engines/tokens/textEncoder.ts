type Encode = (text: string, withSpecials: boolean) => number[];

/** The special tokens around any text; undefined if they change the text's tokens. */
export function tokensAround(encode: Encode): { before: number[]; after: number[] } | undefined {
  const [whole, bare] = [encode("a", true), encode("a", false)];
  const at = whole.findIndex((_, i) => bare.every((id, j) => whole[i + j] === id));
  if (at === -1) return undefined;
  return { before: whole.slice(0, at), after: whole.slice(at + bare.length) };
}

/**
 * Encodes texts with special tokens around them, without duplicating those that a rendered text already
 * has.
 */
export function createTextEncoder(encode: Encode): (text: string) => number[] {
  let around: ReturnType<typeof tokensAround>;
  return (text) => {
    const { before, after } = (around ??= tokensAround(encode) ?? { before: [], after: [] });
    const ids = encode(text, true);
    const begins = before.length > 0 && before.every((id, i) => ids[before.length + i] === id);
    const last = ids.length - 2 * after.length;
    const ends = after.length > 0 && after.every((id, i) => ids[last + i] === id);
    return ids.slice(begins ? before.length : 0, ends ? -after.length : undefined);
  };
}
