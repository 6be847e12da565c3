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
  readonly limitedTo: (bytes: number) => Expression;
  /** Derivatives that are known, by their byte. */
  readonly known: (Expression | undefined)[];
  /** Of a sequence. */
  readonly parts?: readonly [Expression, Expression] | undefined;
  /** Of a sequence: what it ends with. */
  readonly tail?: Expression | undefined;
  /** Of a choice. */
  readonly choices?: readonly Expression[] | undefined;
  /** Of what all of these have. */
  readonly operands?: readonly Expression[] | undefined;
  /** Of what this one lacks. */
  readonly complementOf?: Expression | undefined;
  /** Bytes from which on derivatives may be others than before, and 0. */
  readonly classStarts: () => ReadonlySet<number>;
  /** Bytes of a text of it, at least. */
  readonly shortest: number;
  /** Bytes of a text of it, at most. */
  readonly longest: number;
  /** Expressions in expressions. */
  readonly depth: number;
}

/** One that is to be made: what it does not say follows from these. */
export type NewExpression = Pick<Expression, "isNullable" | "derive" | "classStarts"> &
  Partial<Expression>;
