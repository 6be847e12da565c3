import type { Tokenizer } from "../../tokens/tokenizer.ts";

/** A trie of the tokens that answers may contain, by their bytes; nodes are in depth-first order. */
export interface TokenTrie {
  /** Each node's depth, in bytes. */
  depths: Uint16Array;
  /** The byte that leads to each node from its parent. */
  bytes: Uint8Array;
  /** The next node outside each node's subtree. */
  subtreeEnds: Int32Array;
  /** Where each node's tokens start in `tokens`, and then the end of the last. */
  tokenStarts: Int32Array;
  tokens: Int32Array;
  /** Bytes of the longest token. */
  maxBytes: number;
}

/** Longer tokens, such as a hundred spaces, are excluded: shorter ones can spell them. */
const MAX_TOKEN_BYTES = 64;

/** Tokens read or inserted between two yields. */
const TOKENS_PER_YIELD = 4096;

/** Yields often, since a large vocabulary takes a second. @param markers special tokens to include */
export function* createTokenTrie(
  { vocabulary, isTextToken, isStopToken, bytesOf }: Tokenizer,
  markers: readonly number[],
): Generator<undefined, TokenTrie> {
  /** Tokens by first byte. Texts have one character per byte, which sorts faster than bytes. */
  const byFirst = Array.from({ length: 256 }, (): { id: number; text: string }[] => []);
  for (let id = 0; id < vocabulary; id++) {
    if (id % TOKENS_PER_YIELD === 0) yield;
    if (!markers.includes(id) && (!isTextToken(id) || isStopToken(id))) continue;
    const bytes = bytesOf(id);
    if (bytes.length === 0 || bytes.length > MAX_TOKEN_BYTES) continue;
    byFirst[bytes[0]!]!.push({ id, text: Buffer.from(bytes).toString("latin1") });
  }
  const sorted = [];
  for (const group of byFirst) {
    group.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.id - b.id));
    sorted.push(...group);
    yield;
  }
  const size = sorted.reduce((sum, { text }) => sum + text.length, 0);
  const depths = new Uint16Array(size);
  const bytes = new Uint8Array(size);
  const subtreeEnds = new Int32Array(size);
  const tokenStarts = new Int32Array(size + 1);
  const tokens = new Int32Array(sorted.length);
  const path: number[] = [];
  let count = 0;
  let previous = "";
  for (const [index, { id, text }] of sorted.entries()) {
    if (index % TOKENS_PER_YIELD === 0) yield;
    let shared = 0;
    while (shared < previous.length && previous.charCodeAt(shared) === text.charCodeAt(shared))
      shared++;
    for (const node of path.splice(shared)) subtreeEnds[node] = count;
    for (let at = shared; at < text.length; at++) {
      path.push(count);
      depths[count] = at + 1;
      bytes[count] = text.charCodeAt(at);
      tokenStarts[count++] = index;
    }
    tokens[index] = id;
    previous = text;
  }
  for (const node of path) subtreeEnds[node] = count;
  tokenStarts[count] = sorted.length;
  return {
    depths: depths.slice(0, count),
    bytes: bytes.slice(0, count),
    subtreeEnds: subtreeEnds.slice(0, count),
    tokenStarts: tokenStarts.slice(0, count + 1),
    tokens,
    maxBytes: sorted.reduce((max, { text }) => Math.max(max, text.length), 0),
  };
}
