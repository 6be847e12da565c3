import { KitError } from "../../../protocol/error.ts";
import { encodeUtf8 } from "./encodeUtf8.ts";
import type { Expression, NewExpression } from "./expression.ts";
import { createTextSearch } from "./textSearch.ts";
import { DEEPEST, createWork, tooLarge } from "./work.ts";

/** Expressions of one grammar. */
export interface Expressions {
  /** No text. */
  none: Expression;
  /** The empty text alone. */
  empty: Expression;
  /** @param ranges inclusive byte ranges, in ascending order */
  bytes: (ranges: readonly (readonly [number, number])[]) => Expression;
  text: (text: string) => Expression;
  /** UTF-8 bytes, as a string with one character per byte. */
  encoded: (bytes: string) => Expression;
  sequence: (...parts: readonly Expression[]) => Expression;
  either: (...choices: readonly Expression[]) => Expression;
  /** The intersection. No operand may be a rule that never ends. */
  both: (...all: readonly Expression[]) => Expression;
  /** The complement. Use only inside `both`, which checks that some text remains. */
  not: (of: Expression) => Expression;
  /**
   * @param most may be Infinity
   * @param double an alternative to `of` that counts as two repetitions. Default: nothing
   */
  repeat: (of: Expression, least: number, most: number, double?: Expression) => Expression;
  /**
   * `character` repeated any number of times. `either` and `both` simplify against it, so every text made of such
   * characters must match.
   */
  any: (character: Expression) => Expression;
  /** A rule, for recursion: must not match the empty text. @param body is called once, when first needed */
  rule: (name: string, body: () => Expression) => Expression;
  next: (of: Expression, byte: number) => Expression;
  /** Returns the expression interned under this key, or makes it. @param inner its operands */
  one: (key: string, make: () => NewExpression, inner?: readonly Expression[]) => Expression;
  /** Begins a new part of the work; each part has a step limit. */
  begin: () => void;
  /** Counts work done elsewhere on the grammar's behalf. */
  spend: (steps: number) => void;
  /** How many there are. */
  count: () => number;
  /** Steps of all work so far. */
  spent: () => number;
  /** Whether enough of the budget is left for another answer. */
  isFresh: () => boolean;
}

/** Longest text, in bytes, that is keyed by its content. */
const LONG_TEXT = 64;
/** @throws KitError `REQUEST_INVALID`, in any of them, when the grammar takes too much work or memory */
export function createExpressions(): Expressions {
  const all = new Map<string, Expression>();
  const { spend, begin, spent, isFresh } = createWork(() => all.size);
  const hasText = createTextSearch({ next: (of, byte) => next(of, byte), product });

  function one(
    key: string,
    make: () => NewExpression,
    inner: readonly Expression[] = [],
  ): Expression {
    const known = all.get(key);
    if (known) return known;
    spend(1);
    const depth = inner.reduce((most, { depth: own }) => Math.max(most, own + 1), 0);
    if (depth > DEEPEST) throw tooLarge();
    const found = make();
    // Field by field: spreads take longer than all the rest.
    const made: Expression = {
      id: all.size,
      isNullable: found.isNullable,
      derive: found.derive,
      clamp: found.clamp ?? (() => made),
      known: [],
      parts: found.parts,
      tail: found.tail,
      choices: found.choices,
      all: found.all,
      lacking: found.lacking,
      cuts: once(found.cuts),
      shortest: found.shortest ?? (found.isNullable ? 0 : 1),
      longest: found.longest ?? Infinity,
      depth,
    };
    all.set(key, made);
    return made;
  }

  const none = one("none", () => ({
    isNullable: false,
    shortest: Infinity,
    longest: 0,
    derive: () => none,
    cuts: cutsOf,
  }));
  const empty = one("empty", () => ({
    isNullable: true,
    longest: 0,
    derive: () => none,
    cuts: cutsOf,
  }));

  function next(of: Expression, byte: number): Expression {
    return (of.known[byte] ??= of.derive(byte));
  }

  function bytes(ranges: readonly (readonly [number, number])[]): Expression {
    if (ranges.length === 0) return none;
    return one(`b${ranges.join(";")}`, () => {
      const has = new Uint8Array(256);
      for (const [first, last] of ranges) has.fill(1, first, last + 1);
      return {
        isNullable: false,
        longest: 1,
        derive: (byte) => (has[byte] === 1 ? empty : none),
        cuts: () => new Set([0, ...ranges.flatMap(([first, last]) => [first, last + 1])]),
      };
    });
  }

  /** IDs of longer texts: keying each suffix by its content would take quadratic memory. */
  const longTexts = new Map<string, number>();

  function encoded(content: string): Expression {
    const isLong = content.length > LONG_TEXT;
    if (isLong && !longTexts.has(content)) longTexts.set(content, longTexts.size);
    return textFrom(content, 0, longTexts.get(content));
  }

  function textFrom(content: string, at: number, number: number | undefined): Expression {
    const left = content.length - at;
    if (left === 0) return empty;
    const key = left > LONG_TEXT ? `l${number},${at}` : `t${content.slice(at)}`;
    const first = content.charCodeAt(at);
    return one(key, () => ({
      isNullable: false,
      shortest: left,
      longest: left,
      derive: (byte) => (byte === first ? textFrom(content, at + 1, number) : none),
      cuts: () => new Set([0, first, first + 1]),
    }));
  }

  function pair(first: Expression, rest: Expression): Expression {
    if (first === none || rest === none) return none;
    if (first === empty) return rest;
    if (rest === empty) return first;
    if (first.parts) return pair(first.parts[0], pair(first.parts[1], rest));
    const make = () => ({
      isNullable: first.isNullable && rest.isNullable,
      parts: [first, rest] as const,
      tail: rest.tail ?? rest,
      shortest: first.shortest + rest.shortest,
      longest: first.longest + rest.longest,
      derive(byte: number) {
        spend(1);
        const after = pair(next(first, byte), rest);
        return first.isNullable ? either(after, next(rest, byte)) : after;
      },
      clamp: clamping((count) => pair(first.clamp(count), rest.clamp(count))),
      cuts: () => cutsOf(first, ...(first.isNullable ? [rest] : [])),
    });
    return one(`s${first.id},${rest.id}`, make, [first, rest]);
  }

  function either(...parts: readonly Expression[]): Expression {
    // Counts all choices, before deduplication: with nested repetition, most are duplicates.
    spend(parts.reduce((count, { choices }) => count + (choices?.length ?? 1), 0));
    const flat = new Set(parts.flatMap((part) => part.choices ?? [part]));
    flat.delete(none);
    const whole = [...flat].find((part) => anything.has(part));
    if (whole) for (const part of flat) if (part.tail === whole) flat.delete(part);
    const choices = [...flat].sort((a, b) => a.id - b.id);
    if (choices.length < 2) return choices[0] ?? none;
    const make = () => ({
      isNullable: choices.some(({ isNullable }) => isNullable),
      ...{ choices, shortest: Math.min(...choices.map(({ shortest }) => shortest)) },
      longest: Math.max(...choices.map(({ longest }) => longest)),
      derive(byte: number) {
        spend(choices.length);
        return either(...choices.map((choice) => next(choice, byte)));
      },
      clamp: clamping((count) => either(...choices.map((choice) => choice.clamp(count)))),
      cuts: () => cutsOf(...choices),
    });
    return one(`e${choices.map(({ id }) => id).join()}`, make, choices);
  }

  function not(of: Expression): Expression {
    if (of.lacking) return of.lacking;
    const derive = (byte: number) => not(next(of, byte));
    const make = () => ({ isNullable: !of.isNullable, lacking: of, derive, cuts: of.cuts });
    return one(`!${of.id}`, make, [of]);
  }

  function both(...parts: readonly Expression[]): Expression {
    const found = product(parts);
    return found.all && !hasText(found) ? none : found;
  }

  /** May be empty without being `none`. */
  function product(parts: readonly Expression[]): Expression {
    const flat = new Set(parts.flatMap((part) => part.all ?? [part]));
    flat.delete(not(none));
    if (flat.has(none)) return none;
    const isBound = [...flat].some((part) => !part.lacking && !anything.has(part));
    if (isBound) for (const part of flat) if (anything.has(part)) flat.delete(part);
    if (isBound && [...flat].some(({ lacking }) => lacking && anything.has(lacking))) return none;
    const inner = [...flat].sort((a, b) => a.id - b.id);
    // States multiply with the number of parts, so few are found in the cache.
    spend(inner.length + 2 ** Math.min(inner.length, 8) / 4);
    const longest = Math.min(...inner.map((part) => part.longest));
    if (inner.some(({ shortest }) => shortest > longest)) return none;
    const isNullable = inner.every((part) => part.isNullable);
    if (flat.has(empty)) return isNullable ? empty : none;
    if (inner.length < 2) return inner[0] ?? not(none);
    const make = () => ({
      isNullable,
      longest,
      all: inner,
      cuts: () => cutsOf(...inner),
      derive: (byte: number) => both(...inner.map((part) => next(part, byte))),
    });
    return one(`a${inner.map(({ id }) => id).join()}`, make, inner);
  }

  function repeat(of: Expression, least: number, most: number, double = none): Expression {
    if (most < least) return none;
    if (most === 0 || of === empty) return empty;
    if (of === none) return least > 0 ? none : empty;
    const needed = of.isNullable ? 0 : least;
    if (needed === 1 && most === 1) return of;
    const make = () => ({
      isNullable: needed === 0,
      shortest: needed * of.shortest,
      longest: most * Math.max(of.longest, double.longest / 2),
      derive(byte: number) {
        const left = Math.max(0, needed - 1);
        const after = pair(next(of, byte), repeat(of, left, most - 1, double));
        if (double === none || most < 2) return after;
        return either(after, pair(next(double, byte), repeat(of, left, most - 2, double)));
      },
      // Each repetition takes at least one byte.
      clamp: clamping((count) => {
        const bounded = most === Infinity ? most : Math.min(most, 2 * count + 2);
        return repeat(of.clamp(count), Math.min(needed, count + 1), bounded, double.clamp(count));
      }),
      cuts: () => cutsOf(of, double),
    });
    return one(`r${of.id},${needed},${most},${double.id}`, make, [of, double]);
  }

  /** What `any` has made. */
  const anything = new Set<Expression>();

  function any(character: Expression): Expression {
    const made = repeat(character, 0, Infinity);
    anything.add(made);
    return made;
  }

  function rule(name: string, body: () => Expression): Expression {
    return one(`n${name}`, () => {
      let known: Expression | undefined;
      let isOpen = false;
      const found = () => (known ??= body());
      return {
        isNullable: false,
        cuts: () => found().cuts(),
        derive(byte) {
          if (isOpen) throw endless();
          isOpen = true;
          try {
            return next(found(), byte);
          } finally {
            isOpen = false;
          }
        },
      };
    });
  }

  return {
    none,
    empty,
    bytes,
    encoded,
    either,
    both,
    not,
    repeat,
    any,
    rule,
    next,
    one,
    spend,
    text: (content) => encoded(encodeUtf8(content)),
    sequence: (...parts) => parts.reduceRight((rest, part) => pair(part, rest), empty),
    begin,
    spent,
    isFresh,
    count: () => all.size,
  };
}

function cutsOf(...some: readonly Expression[]): ReadonlySet<number> {
  const found = new Set([0]);
  for (const { cuts } of some) for (const cut of cuts()) found.add(cut);
  return found;
}

/** Calls `make` once, on first use. */
export function once<T>(make: () => T): () => T {
  let known: { made: T } | undefined;
  return () => (known ??= { made: make() }).made;
}

/** Caches the last result. */
function clamping(make: (bytes: number) => Expression): Expression["clamp"] {
  let known: { count: number; made: Expression } | undefined;
  return (count) => {
    if (known?.count !== count) known = { count, made: make(count) };
    return known.made;
  };
}

function endless(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The schema refers directly to itself, so no answer could ever end. Remove the $ref, or move it into a property or an item.",
  );
}
