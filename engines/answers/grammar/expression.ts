/**
 * A set of texts, as bytes. Expressions are interned, so results about them are computed once. Its derivative by a byte
 * is the set of texts that may follow that byte (Brzozowski, 1964).
 */
export interface Expression {
  readonly id: number;
  /** Whether it contains the empty text. */
  readonly isNullable: boolean;
  readonly derive: (byte: number) => Expression;
  /** An expression with the same texts of up to `bytes` bytes: more states then share a mask of allowed tokens. */
  readonly limitedTo: (bytes: number) => Expression;
  /** Cached derivatives, by byte. */
  readonly derivatives: (Expression | undefined)[];
  /** For a sequence: its first part and the rest. */
  readonly parts?: readonly [Expression, Expression] | undefined;
  /** For a sequence: its last part. */
  readonly tail?: Expression | undefined;
  /** For a choice: its alternatives. */
  readonly choices?: readonly Expression[] | undefined;
  /** For an intersection: its operands. */
  readonly operands?: readonly Expression[] | undefined;
  /** For a complement: its operand. */
  readonly complementOf?: Expression | undefined;
  /** First byte of each range of bytes with the same derivative, including 0. */
  readonly classStarts: () => ReadonlySet<number>;
  /** Lower bound of its texts' lengths, in bytes. */
  readonly minBytes: number;
  /** Upper bound of its texts' lengths, in bytes. */
  readonly maxBytes: number;
  /** Nesting of its operands. */
  readonly depth: number;
}

/** What `intern` needs; the rest has defaults. */
export type NewExpression = Pick<Expression, "isNullable" | "derive" | "classStarts"> &
  Partial<Expression>;
