import { KitError } from "../../../protocol/error.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import type { Tokenizer } from "../../tokens/tokenizer.ts";
import { bitmapLength } from "../allowedBits.ts";
import { type ConstraintSpec, constraintGrammar } from "../constraintSpec.ts";
import type { Expression } from "./expression.ts";
import { type Expressions, createExpressions } from "./expressions.ts";
import { type TokenTrie, createTokenTrie } from "./tokenTrie.ts";

/** Constrains an answer, token by token. */
export interface Constraint {
  /** Computes the allowed tokens until a deadline, in `performance.now()` ms. @returns whether it is done */
  prepare: (until: number) => boolean;
  /** Bitmap of the tokens that may follow [vocabulary], least significant bit first. */
  allowed: () => Int32Array;
  accept: (token: number) => void;
  mayEnd: () => boolean;
  /** Whether the answer is complete, for a model without stop tokens. */
  isComplete: () => boolean;
}

interface Grammar {
  key: string;
  expressions: Expressions;
  root: Expression;
  /** Bitmaps of allowed tokens, by the id of the state limited to the longest token. */
  masks: Map<number, Int32Array>;
}

/** Maximum size of all cached grammars. */
const MAX_CACHE_BYTES = 2 ** 27;
/** Approximate. */
const BYTES_PER_EXPRESSION = 1200;
/** Maximum cached masks of a grammar. */
const MAX_MASKS = 256;
/** Maximum length of a schema's JSON, in characters. */
const MAX_SCHEMA_LENGTH = 262_144;
/** Trie nodes visited between two yields. */
const NODES_PER_YIELD = 128;

/**
 * Constrains a model's answers. Requests with the same constraint share a grammar.
 * @param markers special tokens that an answer may contain where the constraint has their text
 */
export function createConstraints(tokenizer: Tokenizer, markers: readonly number[] = []) {
  let trie: TokenTrie | undefined;
  let trieWork: ReturnType<typeof createTokenTrie> | undefined;
  const ids = Array.from({ length: tokenizer.vocabulary }, (_, id) => id);
  const stopTokens = ids.filter((id) => tokenizer.isStopToken(id));
  const maskWords = bitmapLength(tokenizer.vocabulary);
  /** By key, most recently used last. */
  const cache = new Map<string, Grammar>();

  let lastSteps = 0;

  /** @throws KitError `REQUEST_INVALID` for an unsupported constraint */
  function create(spec: ConstraintSpec): Constraint {
    lastSteps = 0;
    const key = specJson(spec);
    const cached = cache.get(key);
    const grammar = cached?.expressions.hasBudget() ? cached : grammarOf(key, spec);
    cache.delete(key);
    cache.set(key, grammar);
    return constraintOf(grammar);
  }

  /** Called after each use of a grammar, which makes it grow. */
  function evictOldest(): void {
    let bytes = 0;
    for (const [key, grammar] of [...cache].reverse()) {
      bytes += bytesOf(grammar);
      if (bytes > MAX_CACHE_BYTES) cache.delete(key);
    }
  }

  function bytesOf({ key, expressions, masks }: Grammar): number {
    return 2 * key.length + expressions.count() * BYTES_PER_EXPRESSION + masks.size * maskWords * 4;
  }

  function grammarOf(key: string, spec: ConstraintSpec): Grammar {
    const expressions = createExpressions();
    const found = compile(expressions, spec);
    const { text, repeat, sequence } = expressions;
    const root = tokenizer.dropsSpace ? sequence(repeat(text(" "), 0, 1), found) : found;
    return { key, expressions, root, masks: new Map() };
  }

  function compile(expressions: Expressions, spec: ConstraintSpec): Expression {
    try {
      return constraintGrammar(expressions, spec);
    } finally {
      lastSteps = expressions.stepsSpent();
    }
  }

  function constraintOf({ expressions, root, masks }: Grammar): Constraint {
    let state = root;
    let mask: Int32Array | undefined;
    let maskWork: Generator<undefined, Int32Array> | undefined;

    function prepare(until: number): boolean {
      maskWork ??= computeMask();
      while (!mask) {
        const { done, value } = maskWork.next();
        if (done) mask = value;
        else if (performance.now() >= until) return false;
      }
      return true;
    }

    function* computeMask(): Generator<undefined, Int32Array> {
      trieWork ??= createTokenTrie(tokenizer, markers);
      while (!trie) {
        const { done, value } = trieWork.next();
        if (done) trie = value;
        else yield;
      }
      expressions.beginPart();
      const limited = state.limitedTo(trie.maxBytes);
      const found = masks.get(limited.id) ?? (yield* maskOf(trie, expressions, limited));
      if (masks.size === MAX_MASKS) masks.clear();
      masks.set(limited.id, found);
      evictOldest();
      return found;
    }

    return {
      prepare,
      allowed() {
        prepare(Infinity);
        return mask!;
      },
      accept(token) {
        maskWork = mask = undefined;
        expressions.beginPart();
        for (const byte of tokenizer.bytesOf(token)) state = expressions.derivative(state, byte);
      },
      mayEnd: () => state.isNullable,
      isComplete: () => state === expressions.empty && stopTokens.length === 0,
    };
  }

  /** Walks the trie to find the tokens whose bytes may follow. */
  function* maskOf(
    trie: TokenTrie,
    { derivative, none }: Expressions,
    from: Expression,
  ): Generator<undefined, Int32Array> {
    const { depths, bytes, subtreeEnds, tokenStarts, tokens: ids } = trie;
    const mask = new Int32Array(maskWords);
    const allow = (token: number) => (mask[token >>> 5]! |= 1 << (token & 31));
    const path = [from];
    let steps = 0;
    for (let node = 0; node < depths.length;) {
      if (++steps % NODES_PER_YIELD === 0) yield;
      const depth = depths[node]!;
      const after = derivative(path[depth - 1]!, bytes[node]!);
      if (after === none) {
        node = subtreeEnds[node]!;
        continue;
      }
      path[depth] = after;
      for (let i = tokenStarts[node]!; i < tokenStarts[node + 1]!; i++) allow(ids[i]!);
      node++;
    }
    if (from.isNullable) stopTokens.forEach(allow);
    return mask;
  }

  return {
    create,
    /** Steps that compiling the last constraint took, even if it was refused. */
    stepsSpent: () => lastSteps,
  };
}

/** @throws KitError `REQUEST_INVALID` for a schema that is too long or not JSON */
export function specJson(spec: ConstraintSpec): string {
  let text: string | undefined;
  try {
    text = stringifyJson(spec);
  } catch {
    // Nested deeper than the stack, or cyclic.
  }
  if (text !== undefined && text.length <= MAX_SCHEMA_LENGTH) return text;
  throw new KitError(
    "REQUEST_INVALID",
    text === undefined
      ? "The schema nests too deeply, or contains itself. Make it flatter."
      : `The schema has more than ${MAX_SCHEMA_LENGTH} characters as JSON. Make it smaller.`,
  );
}
