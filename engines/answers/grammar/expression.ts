import type { UniqueList } from "./uniqueList.ts";

/**
 * A set of texts, as bytes. Equal ones are one object, so that what is found of one is found once.
 * Its derivative by a byte is the set of what may follow that byte (Brzozowski, 1964).
 */
export interface Expression {
  readonly id: number;
  /** Whether the empty text is in it. */
  readonly isNullable: boolean;
  /** Computes the derivative. */
  readonly derive: (byte: number) => Expression;
  /** An expression that agrees on all texts of up to so many bytes. */
  readonly clamp: (bytes: number) => Expression;
  /** Derivatives that are known, by their byte. */
  readonly known: (Expression | undefined)[];
  /** Of single bytes: ranges, each with its last, in order. */
  readonly ranges?: readonly (readonly [number, number])[];
  /** Of one text. */
  readonly content?: () => Uint8Array;
  /** Of a sequence. */
  readonly parts?: readonly [Expression, Expression];
  /** Of a sequence: what it ends with. */
  readonly tail?: Expression;
  /** Of a choice. */
  readonly choices?: readonly Expression[];
  /** Of what all of these have. */
  readonly all?: readonly Expression[];
  /** Of what this one lacks. */
  readonly lacking?: Expression;
  readonly repeated?: Repeated;
  /** Of a rule. */
  readonly body?: () => Expression;
  readonly unique?: UniqueList;
  /** Of multiples: of what, without its point, and how many digits are behind that. */
  readonly multiple?: readonly [modulus: number, places: number];
  /** Bytes from which on derivatives may be others than before, and 0. */
  readonly cuts: () => ReadonlySet<number>;
  /** Bytes of a text of it, at least. */
  readonly shortest: number;
  /** Expressions in expressions. */
  readonly depth: number;
}

/** What is repeated, at least and at most how often, and what counts as two. */
export type Repeated = readonly [of: Expression, least: number, most: number, double: Expression];

/** One that is to be made: what it does not say follows from these. */
export type NewExpression = Pick<Expression, "isNullable" | "derive" | "cuts"> &
  Partial<Expression>;
