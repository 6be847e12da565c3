import { KitError } from "../../../protocol/error.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import type { Tokenizer } from "../../tokens/tokenizer.ts";
import { type Form, formGrammar } from "../form.ts";
import type { Expression } from "./expression.ts";
import { type Expressions, createExpressions } from "./expressions.ts";
import { type TokenTrie, createTokenTrie } from "./tokenTrie.ts";

/** What an answer is held to, token by token. */
export interface Constraint {
  /** Works at what is allowed until then (`performance.now()`). @returns whether it is known */
  prepare: (until: number) => boolean;
  /** A bit [vocabulary] for each token, from the lowest of a word on: 1 if it may follow. */
  allowed: () => Int32Array;
  accept: (token: number) => void;
  /** Whether the answer may end here. */
  isWhole: () => boolean;
  /** Whether nothing may follow. */
  isOver: () => boolean;
}

interface Grammar {
  key: string;
  expressions: Expressions;
  root: Expression;
  /** By the ids of clamped expressions, what may follow. */
  masks: Map<number, Int32Array>;
}

/** Bytes of all grammars that are kept, at most, and of an expression, about. */
const MAX_CACHE_BYTES = 2 ** 27;
const EXPRESSION_BYTES = 1200;
/** Places of a grammar of which is kept what may follow, at most. */
const MAX_MASKS = 256;
/** Characters of a schema as JSON, at most. */
const LONGEST = 262_144;
/** Tokens' bytes that are looked at between two yields. */
const SLICE = 128;
/** Tokens of a word of bits. */
const BITS = 32;

/**
 * Holds a model's answers to forms. What it has found of one serves all that ask for it.
 * @param markers special tokens that an answer may have where its form has their text
 */
export function createConstraints(tokenizer: Tokenizer, markers: readonly number[] = []) {
  let trie: TokenTrie | undefined;
  let building: ReturnType<typeof createTokenTrie> | undefined;
  const ids = Array.from({ length: tokenizer.vocabulary }, (_, id) => id);
  const ends = ids.filter((id) => tokenizer.isStopToken(id));
  const maskWords = Math.ceil(tokenizer.vocabulary / BITS);
  /** Those asked last come last. */
  const kept = new Map<string, Grammar>();

  let spent = 0;

  /** @throws KitError `REQUEST_INVALID` for a form that no answer can be held to */
  function begin(form: Form): Constraint {
    spent = 0;
    const key = keyOf(form);
    const known = kept.get(key);
    const grammar = known?.expressions.hasBudget() ? known : grammarOf(key, form);
    kept.delete(key);
    kept.set(key, grammar);
    return constraintOf(grammar);
  }

  /** Grammars grow as answers follow them. */
  function forgetOldest(): void {
    let bytes = 0;
    for (const [key, grammar] of [...kept].reverse()) {
      bytes += bytesOf(grammar);
      if (bytes > MAX_CACHE_BYTES) kept.delete(key);
    }
  }

  function bytesOf({ key, expressions, masks }: Grammar): number {
    return 2 * key.length + expressions.count() * EXPRESSION_BYTES + masks.size * maskWords * 4;
  }

  function grammarOf(key: string, form: Form): Grammar {
    const expressions = createExpressions();
    const found = madeOf(expressions, form);
    const { text, repeat, sequence } = expressions;
    const root = tokenizer.dropsSpace ? sequence(repeat(text(" "), 0, 1), found) : found;
    return { key, expressions, root, masks: new Map() };
  }

  function madeOf(expressions: Expressions, form: Form): Expression {
    try {
      return formGrammar(expressions, form);
    } finally {
      spent = expressions.stepsSpent();
    }
  }

  function constraintOf({ expressions, root, masks }: Grammar): Constraint {
    let state = root;
    let known: Int32Array | undefined;
    let work: Generator<undefined, Int32Array> | undefined;

    function prepare(until: number): boolean {
      work ??= find();
      while (!known) {
        const { done, value } = work.next();
        if (done) known = value;
        else if (performance.now() >= until) return false;
      }
      return true;
    }

    function* find(): Generator<undefined, Int32Array> {
      building ??= createTokenTrie(tokenizer, markers);
      while (!trie) {
        const { done, value } = building.next();
        if (done) trie = value;
        else yield;
      }
      expressions.beginPart();
      const clamped = state.limitedTo(trie.longest);
      const found = masks.get(clamped.id) ?? (yield* maskOf(trie, expressions, clamped));
      if (masks.size === MAX_MASKS) masks.clear();
      masks.set(clamped.id, found);
      forgetOldest();
      return found;
    }

    return {
      prepare,
      allowed() {
        prepare(Infinity);
        return known!;
      },
      accept(token) {
        work = known = undefined;
        expressions.beginPart();
        for (const byte of tokenizer.bytesOf(token)) state = expressions.derivative(state, byte);
      },
      isWhole: () => state.isNullable,
      isOver: () => state === expressions.empty && ends.length === 0,
    };
  }

  /** The tokens whose bytes may follow, found by walking all of them at once. */
  function* maskOf(
    tokens: TokenTrie,
    { derivative, none }: Expressions,
    from: Expression,
  ): Generator<undefined, Int32Array> {
    const { depths, bytes, afters, firsts, tokens: spoken } = tokens;
    const mask = new Int32Array(maskWords);
    const allow = (token: number) => (mask[token >>> 5]! |= 1 << (token & (BITS - 1)));
    const path = [from];
    let steps = 0;
    for (let node = 0; node < depths.length;) {
      if (++steps % SLICE === 0) yield;
      const depth = depths[node]!;
      const after = derivative(path[depth - 1]!, bytes[node]!);
      if (after === none) {
        node = afters[node]!;
        continue;
      }
      path[depth] = after;
      for (let i = firsts[node]!; i < firsts[node + 1]!; i++) allow(spoken[i]!);
      node++;
    }
    if (from.isNullable) ends.forEach(allow);
    return mask;
  }

  return {
    begin,
    /** Steps of work that the last form took, also one that was refused. */
    stepsSpent: () => spent,
  };
}

/** @throws KitError `REQUEST_INVALID` for a schema that is too long or not JSON */
export function keyOf(form: Form): string {
  let text: string | undefined;
  try {
    text = stringifyJson(form);
  } catch {
    // Deeper than the stack, or cyclic.
  }
  if (text !== undefined && text.length <= LONGEST) return text;
  throw new KitError(
    "REQUEST_INVALID",
    text === undefined
      ? "The schema nests too deeply, or contains itself. Make it flatter."
      : `The schema has more than ${LONGEST} characters as JSON. Make it smaller.`,
  );
}
