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

/** Tokens between two yields. */
const SLICE = 4096;

/**
 * Yields often, as a large vocabulary takes a second.
 * @param markers special tokens that are among them
 */
export function* createTokenTrie(
  { vocabulary, isTextToken, isStopToken, bytesOf }: Tokenizer,
  markers: readonly number[],
): Generator<undefined, TokenTrie> {
  /** By their first byte: a character for each byte, which sorts faster than bytes. */
  const byFirst = Array.from({ length: 256 }, (): { id: number; text: string }[] => []);
  for (let id = 0; id < vocabulary; id++) {
    if (id % SLICE === 0) yield;
    if (!markers.includes(id) && (!isTextToken(id) || isStopToken(id))) continue;
    const bytes = bytesOf(id);
    if (bytes.length === 0 || bytes.length > LONGEST) continue;
    byFirst[bytes[0]!]!.push({ id, text: Buffer.from(bytes).toString("latin1") });
  }
  const spoken = [];
  for (const some of byFirst) {
    some.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.id - b.id));
    spoken.push(...some);
    yield;
  }
  const size = spoken.reduce((sum, { text }) => sum + text.length, 0);
  const depths = new Uint16Array(size);
  const bytes = new Uint8Array(size);
  const afters = new Int32Array(size);
  const firsts = new Int32Array(size + 1);
  const tokens = new Int32Array(spoken.length);
  const open: number[] = [];
  let count = 0;
  let before = "";
  for (const [place, { id, text }] of spoken.entries()) {
    if (place % SLICE === 0) yield;
    let same = 0;
    while (same < before.length && before.charCodeAt(same) === text.charCodeAt(same)) same++;
    for (const node of open.splice(same)) afters[node] = count;
    for (let at = same; at < text.length; at++) {
      open.push(count);
      depths[count] = at + 1;
      bytes[count] = text.charCodeAt(at);
      firsts[count++] = place;
    }
    tokens[place] = id;
    before = text;
  }
  for (const node of open) afters[node] = count;
  firsts[count] = spoken.length;
  return {
    depths: depths.slice(0, count),
    bytes: bytes.slice(0, count),
    afters: afters.slice(0, count),
    firsts: firsts.slice(0, count + 1),
    tokens,
    longest: spoken.reduce((most, { text }) => Math.max(most, text.length), 0),
  };
}
