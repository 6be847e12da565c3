import type { Tokenizer } from "../../tokens/tokenizer.ts";

/** The tokens that answers are made of, by their bytes: nodes in the order in which a walk comes to them. */
export interface TokenTrie {
  /** Of each node, how many bytes lead to it. */
  depths: Uint16Array;
  /** Of each node, the last of them. */
  bytes: Uint8Array;
  /** Of each node, the first one that is not below it. */
  afters: Int32Array;
  /** Of each node, the place of its first token in `tokens`; and where those of the last one end. */
  firsts: Int32Array;
  tokens: Int32Array;
  /** Bytes of the longest token. */
  longest: number;
}

/** Longer tokens, such as those of a hundred spaces, are left out: a shorter one can always begin. */
const LONGEST = 64;

/** @param markers special tokens that are among them */
export function createTokenTrie(
  { vocabulary, isSpoken, isEnd, bytesOf }: Tokenizer,
  markers: readonly number[],
): TokenTrie {
  const spoken: { id: number; bytes: Uint8Array }[] = [];
  for (let id = 0; id < vocabulary; id++) {
    if (!markers.includes(id) && (!isSpoken(id) || isEnd(id))) continue;
    const bytes = bytesOf(id);
    if (bytes.length > 0 && bytes.length <= LONGEST) spoken.push({ id, bytes });
  }
  spoken.sort((a, b) => Buffer.compare(a.bytes, b.bytes) || a.id - b.id);
  const size = spoken.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const depths = new Uint16Array(size);
  const bytes = new Uint8Array(size);
  const afters = new Int32Array(size);
  const firsts = new Int32Array(size + 1);
  const tokens = new Int32Array(spoken.length);
  const open: number[] = [];
  let count = 0;
  let before: Uint8Array = new Uint8Array();
  spoken.forEach((one, place) => {
    let same = 0;
    while (same < before.length && before[same] === one.bytes[same]) same++;
    for (const node of open.splice(same)) afters[node] = count;
    for (let at = same; at < one.bytes.length; at++) {
      open.push(count);
      depths[count] = at + 1;
      bytes[count] = one.bytes[at]!;
      firsts[count++] = place;
    }
    tokens[place] = one.id;
    before = one.bytes;
  });
  for (const node of open) afters[node] = count;
  firsts[count] = spoken.length;
  return {
    ...{ depths: depths.slice(0, count), bytes: bytes.slice(0, count) },
    ...{ afters: afters.slice(0, count), firsts: firsts.slice(0, count + 1), tokens },
    longest: spoken.reduce((most, one) => Math.max(most, one.bytes.length), 0),
  };
}
