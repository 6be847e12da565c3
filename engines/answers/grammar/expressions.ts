import { KitError } from "../../../protocol/error.ts";
import { MAX_DEPTH, createBudget, tooLarge } from "./budget.ts";
import { encodeUtf8 } from "./encodeUtf8.ts";
import type { Expression, NewExpression } from "./expression.ts";
import { createTextSearch } from "./textSearch.ts";

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
  intersection: (...operands: readonly Expression[]) => Expression;
  /** The complement. Use only inside `intersection`, which checks that some text remains. */
  complement: (inner: Expression) => Expression;
  /**
   * @param max may be Infinity
   * @param double an alternative to `inner` that counts as two repetitions. Default: nothing
   */
  repeat: (inner: Expression, min: number, max: number, double?: Expression) => Expression;
  /**
   * `character` repeated any number of times. To simplify, `either` and `intersection` assume that all texts consist of
   * such characters.
   */
  any: (character: Expression) => Expression;
  /** A rule, for recursion: must not match the empty text. @param body is called once, when first needed */
  rule: (name: string, body: () => Expression) => Expression;
  derivative: (inner: Expression, byte: number) => Expression;
  /** Returns the expression interned under this key, or makes it. @param operands its parts */
  intern: (key: string, make: () => NewExpression, operands?: readonly Expression[]) => Expression;
  /** Begins a part of the work, such as finding the tokens that may follow. Each part has a step limit. */
  beginPart: () => void;
  /** Counts work that others do for the grammar. */
  spendSteps: (steps: number) => void;
  /** Number of expressions. */
  count: () => number;
  /** Steps of all work so far. */
  stepsSpent: () => number;
  /** Whether enough of the budget is left for another answer. */
  hasBudget: () => boolean;
}

/** Maximum bytes of a text that is keyed by its content. */
const MAX_KEYED_BYTES = 64;
/** @throws KitError `REQUEST_INVALID`, from any method, when the grammar takes too much work or memory */
export function createExpressions(): Expressions {
  const interned = new Map<string, Expression>();
  const { spendSteps, beginPart, stepsSpent, hasBudget } = createBudget(() => interned.size);
  const hasText = createTextSearch({ derivative, product });

  function intern(
    key: string,
    make: () => NewExpression,
    operands: readonly Expression[] = [],
  ): Expression {
    const existing = interned.get(key);
    if (existing) return existing;
    spendSteps(1);
    const depth = operands.reduce((max, operand) => Math.max(max, operand.depth + 1), 0);
    if (depth > MAX_DEPTH) throw tooLarge();
    const fields = make();
    // Property by property: spreads would take longer than everything else.
    const made: Expression = {
      id: interned.size,
      isNullable: fields.isNullable,
      derive: fields.derive,
      limitedTo: fields.limitedTo ?? (() => made),
      derivatives: [],
      parts: fields.parts,
      tail: fields.tail,
      choices: fields.choices,
      operands: fields.operands,
      complementOf: fields.complementOf,
      classStarts: once(fields.classStarts),
      minBytes: fields.minBytes ?? (fields.isNullable ? 0 : 1),
      maxBytes: fields.maxBytes ?? Infinity,
      depth,
    };
    interned.set(key, made);
    return made;
  }

  const none = intern("none", () => ({
    isNullable: false,
    minBytes: Infinity,
    maxBytes: 0,
    derive: () => none,
    classStarts: classStartsOf,
  }));
  const empty = intern("empty", () => ({
    isNullable: true,
    maxBytes: 0,
    derive: () => none,
    classStarts: classStartsOf,
  }));

  function derivative(inner: Expression, byte: number): Expression {
    return (inner.derivatives[byte] ??= inner.derive(byte));
  }

  function bytes(ranges: readonly (readonly [number, number])[]): Expression {
    if (ranges.length === 0) return none;
    return intern(`b${ranges.join(";")}`, () => {
      const has = new Uint8Array(256);
      for (const [first, last] of ranges) has.fill(1, first, last + 1);
      return {
        isNullable: false,
        maxBytes: 1,
        derive: (byte) => (has[byte] === 1 ? empty : none),
        classStarts: () => new Set([0, ...ranges.flatMap(([first, last]) => [first, last + 1])]),
      };
    });
  }

  /** IDs of longer texts: keying each suffix by its content would take quadratic memory. */
  const longTexts = new Map<string, number>();

  function encoded(content: string): Expression {
    const isLong = content.length > MAX_KEYED_BYTES;
    if (isLong && !longTexts.has(content)) longTexts.set(content, longTexts.size);
    return textFrom(content, 0, longTexts.get(content));
  }

  /** The rest of a text. @param id of a long text */
  function textFrom(content: string, start: number, id: number | undefined): Expression {
    const length = content.length - start;
    if (length === 0) return empty;
    const key = length > MAX_KEYED_BYTES ? `l${id},${start}` : `t${content.slice(start)}`;
    const first = content.charCodeAt(start);
    return intern(key, () => ({
      isNullable: false,
      minBytes: length,
      maxBytes: length,
      derive: (byte) => (byte === first ? textFrom(content, start + 1, id) : none),
      classStarts: () => new Set([0, first, first + 1]),
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
      minBytes: first.minBytes + rest.minBytes,
      maxBytes: first.maxBytes + rest.maxBytes,
      derive(byte: number) {
        spendSteps(1);
        const after = pair(derivative(first, byte), rest);
        return first.isNullable ? either(after, derivative(rest, byte)) : after;
      },
      limitedTo: cacheLast((count) => pair(first.limitedTo(count), rest.limitedTo(count))),
      classStarts: () => classStartsOf(first, ...(first.isNullable ? [rest] : [])),
    });
    return intern(`s${first.id},${rest.id}`, make, [first, rest]);
  }

  function either(...parts: readonly Expression[]): Expression {
    // Counts all choices, before deduplication: with nested repetition, most are duplicates.
    spendSteps(parts.reduce((count, { choices }) => count + (choices?.length ?? 1), 0));
    const flat = new Set(parts.flatMap((part) => part.choices ?? [part]));
    flat.delete(none);
    const anyText = [...flat].find((part) => anything.has(part));
    if (anyText) for (const part of flat) if (part.tail === anyText) flat.delete(part);
    const choices = [...flat].sort((a, b) => a.id - b.id);
    if (choices.length < 2) return choices[0] ?? none;
    const make = () => ({
      isNullable: choices.some(({ isNullable }) => isNullable),
      choices,
      minBytes: Math.min(...choices.map(({ minBytes }) => minBytes)),
      maxBytes: Math.max(...choices.map(({ maxBytes }) => maxBytes)),
      derive(byte: number) {
        spendSteps(choices.length);
        return either(...choices.map((choice) => derivative(choice, byte)));
      },
      limitedTo: cacheLast((count) => either(...choices.map((choice) => choice.limitedTo(count)))),
      classStarts: () => classStartsOf(...choices),
    });
    return intern(`e${choices.map(({ id }) => id).join()}`, make, choices);
  }

  function complement(inner: Expression): Expression {
    if (inner.complementOf) return inner.complementOf;
    const derive = (byte: number) => complement(derivative(inner, byte));
    const make = () => ({
      isNullable: !inner.isNullable,
      complementOf: inner,
      derive,
      classStarts: inner.classStarts,
    });
    return intern(`!${inner.id}`, make, [inner]);
  }

  function intersection(...parts: readonly Expression[]): Expression {
    const found = product(parts);
    return found.operands && !hasText(found) ? none : found;
  }

  /** An intersection that may be empty without being `none`. */
  function product(parts: readonly Expression[]): Expression {
    const flat = new Set(parts.flatMap((part) => part.operands ?? [part]));
    flat.delete(complement(none));
    if (flat.has(none)) return none;
    const isBounded = [...flat].some((part) => !part.complementOf && !anything.has(part));
    if (isBounded) for (const part of flat) if (anything.has(part)) flat.delete(part);
    if (
      isBounded &&
      [...flat].some(({ complementOf }) => complementOf && anything.has(complementOf))
    )
      return none;
    const operands = [...flat].sort((a, b) => a.id - b.id);
    // States multiply with the number of parts, so few are found in the cache.
    spendSteps(operands.length + 2 ** Math.min(operands.length, 8) / 4);
    const maxBytes = Math.min(...operands.map((part) => part.maxBytes));
    if (operands.some(({ minBytes }) => minBytes > maxBytes)) return none;
    const isNullable = operands.every((part) => part.isNullable);
    if (flat.has(empty)) return isNullable ? empty : none;
    if (operands.length < 2) return operands[0] ?? complement(none);
    const make = () => ({
      isNullable,
      maxBytes,
      operands,
      classStarts: () => classStartsOf(...operands),
      derive: (byte: number) => intersection(...operands.map((part) => derivative(part, byte))),
    });
    return intern(`a${operands.map(({ id }) => id).join()}`, make, operands);
  }

  function repeat(inner: Expression, min: number, max: number, double = none): Expression {
    if (max < min) return none;
    if (max === 0 || inner === empty) return empty;
    if (inner === none) return min > 0 ? none : empty;
    const required = inner.isNullable ? 0 : min;
    if (required === 1 && max === 1) return inner;
    const make = () => ({
      isNullable: required === 0,
      minBytes: required * inner.minBytes,
      maxBytes: max * Math.max(inner.maxBytes, double.maxBytes / 2),
      derive(byte: number) {
        const left = Math.max(0, required - 1);
        const after = pair(derivative(inner, byte), repeat(inner, left, max - 1, double));
        if (double === none || max < 2) return after;
        return either(after, pair(derivative(double, byte), repeat(inner, left, max - 2, double)));
      },
      // Each repetition takes at least one byte.
      limitedTo: cacheLast((count) => {
        const bounded = max === Infinity ? max : Math.min(max, 2 * count + 2);
        return repeat(
          inner.limitedTo(count),
          Math.min(required, count + 1),
          bounded,
          double.limitedTo(count),
        );
      }),
      classStarts: () => classStartsOf(inner, double),
    });
    return intern(`r${inner.id},${required},${max},${double.id}`, make, [inner, double]);
  }

  /** Results of `any`. */
  const anything = new Set<Expression>();

  function any(character: Expression): Expression {
    const made = repeat(character, 0, Infinity);
    anything.add(made);
    return made;
  }

  function rule(name: string, body: () => Expression): Expression {
    return intern(`n${name}`, () => {
      let isDeriving = false;
      const compiled = once(body);
      return {
        isNullable: false,
        classStarts: () => compiled().classStarts(),
        derive(byte) {
          if (isDeriving) throw refersToItself();
          isDeriving = true;
          try {
            return derivative(compiled(), byte);
          } finally {
            isDeriving = false;
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
    intersection,
    complement,
    repeat,
    any,
    rule,
    derivative,
    intern,
    spendSteps,
    text: (content) => encoded(encodeUtf8(content)),
    sequence: (...parts) => parts.reduceRight((rest, part) => pair(part, rest), empty),
    beginPart,
    stepsSpent,
    hasBudget,
    count: () => interned.size,
  };
}

function classStartsOf(...parts: readonly Expression[]): ReadonlySet<number> {
  const found = new Set([0]);
  for (const { classStarts } of parts) for (const start of classStarts()) found.add(start);
  return found;
}

/** Calls `make` once, on first use. */
export function once<T>(make: () => T): () => T {
  let known: { made: T } | undefined;
  return () => (known ??= { made: make() }).made;
}

/** Caches the last result. */
function cacheLast(make: (bytes: number) => Expression): Expression["limitedTo"] {
  let known: { count: number; made: Expression } | undefined;
  return (count) => {
    if (known?.count !== count) known = { count, made: make(count) };
    return known.made;
  };
}

function refersToItself(): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "The schema refers directly to itself, so no answer could ever end. Remove the $ref, or move it into a property or an item.",
  );
}
