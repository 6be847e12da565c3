import type { Tokenizer } from "../../tokens/tokenizer.ts";

/** A trie of the tokens that answers may contain, by their bytes; nodes are in depth-first order. */
export interface TokenTrie {
  /** Depth of each node: number of bytes that lead to it. */
  depths: Uint16Array;
  /** The last of these bytes. */
  bytes: Uint8Array;
  /** The next node outside each node's subtree. */
  subtreeEnds: Int32Array;
  /** Each node's first token, as an index into `tokens`; one more marks the end. */
  tokenStarts: Int32Array;
  tokens: Int32Array;
  /** Bytes of the longest token. */
  longest: number;
}

/** Longer tokens, such as a hundred spaces, are excluded: a shorter one can always start. */
const MAX_TOKEN_BYTES = 64;

/** Tokens read or inserted between two yields. */
const TOKENS_PER_YIELD = 4096;

/** Yields often, since a large vocabulary takes a second. @param markers special tokens to include */
export function* createTokenTrie(
  { vocabulary, isTextToken, isStopToken, bytesOf }: Tokenizer,
  markers: readonly number[],
): Generator<undefined, TokenTrie> {
  /** By first byte; texts have one character per byte, which sorts faster than bytes. */
  const byFirst = Array.from({ length: 256 }, (): { id: number; text: string }[] => []);
  for (let id = 0; id < vocabulary; id++) {
    if (id % TOKENS_PER_YIELD === 0) yield;
    if (!markers.includes(id) && (!isTextToken(id) || isStopToken(id))) continue;
    const bytes = bytesOf(id);
    if (bytes.length === 0 || bytes.length > MAX_TOKEN_BYTES) continue;
    byFirst[bytes[0]!]!.push({ id, text: Buffer.from(bytes).toString("latin1") });
  }
  const sorted = [];
  for (const some of byFirst) {
    some.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.id - b.id));
    sorted.push(...some);
    yield;
  }
  const size = sorted.reduce((sum, { text }) => sum + text.length, 0);
  const depths = new Uint16Array(size);
  const bytes = new Uint8Array(size);
  const subtreeEnds = new Int32Array(size);
  const tokenStarts = new Int32Array(size + 1);
  const tokens = new Int32Array(sorted.length);
  const open: number[] = [];
  let count = 0;
  let before = "";
  for (const [index, { id, text }] of sorted.entries()) {
    if (index % TOKENS_PER_YIELD === 0) yield;
    let same = 0;
    while (same < before.length && before.charCodeAt(same) === text.charCodeAt(same)) same++;
    for (const node of open.splice(same)) subtreeEnds[node] = count;
    for (let at = same; at < text.length; at++) {
      open.push(count);
      depths[count] = at + 1;
      bytes[count] = text.charCodeAt(at);
      tokenStarts[count++] = index;
    }
    tokens[index] = id;
    before = text;
  }
  for (const node of open) subtreeEnds[node] = count;
  tokenStarts[count] = sorted.length;
  return {
    depths: depths.slice(0, count),
    bytes: bytes.slice(0, count),
    subtreeEnds: subtreeEnds.slice(0, count),
    tokenStarts: tokenStarts.slice(0, count + 1),
    tokens,
    longest: sorted.reduce((most, { text }) => Math.max(most, text.length), 0),
  };
}
