/** A parsed expression, as `@huggingface/jinja` returns it. */
export type Expression =
  | { type: "IntegerLiteral" | "FloatLiteral"; value: number }
  | { type: "StringLiteral"; value: string }
  | { type: "ArrayLiteral" | "TupleLiteral"; value: Expression[] }
  | { type: "ObjectLiteral"; value: Map<Expression, Expression> }
  | Identifier
  | {
      type: "MemberExpression";
      object: Expression;
      property: Expression | Slice;
      computed: boolean;
    }
  | Call
  | { type: "BinaryExpression"; operator: Operator; left: Expression; right: Expression }
  | { type: "UnaryExpression"; operator: Operator; argument: Expression }
  | { type: "FilterExpression"; operand: Expression; filter: AppliedFilter }
  | { type: "SelectExpression"; lhs: Expression; test: Expression }
  | { type: "TestExpression"; operand: Expression; negate: boolean; test: Identifier }
  | {
      type: "Ternary";
      condition: Expression;
      trueExpr: Expression;
      falseExpr: Expression;
    };

export interface Identifier {
  type: "Identifier";
  value: string;
}

export interface Call {
  type: "CallExpression";
  callee: Expression;
  args: Argument[];
}

export interface Slice {
  type: "SliceExpression";
  start: Expression | undefined;
  stop: Expression | undefined;
  step: Expression | undefined;
}

/** A filter, with or without arguments. */
export type AppliedFilter = Identifier | Call;

export type Argument = Expression | Keyword | Spread;

export interface Keyword {
  type: "KeywordArgumentExpression";
  key: Identifier;
  value: Expression;
}

type Spread =
  | { type: "SpreadExpression"; argument: Expression }
  | { type: "KeywordSpreadExpression"; argument: Expression };

interface Operator {
  value: string;
}

// eslint-disable-next-line no-restricted-syntax -- The package returns null.
type Missing = null;

/** A parsed statement. An expression that is a statement writes its value. */
export type Statement =
  | Expression
  | { type: "If"; test: Expression; body: Statement[]; alternate: Statement[] }
  | {
      type: "For";
      loopvar: Expression;
      iterable: Expression;
      body: Statement[];
      defaultBlock: Statement[];
    }
  | { type: "Set"; assignee: Expression; value: Expression | Missing; body: Statement[] }
  | Macro
  | { type: "CallStatement"; call: Call; callerArgs: Parameter[] | Missing; body: Statement[] }
  | { type: "FilterStatement"; filter: AppliedFilter; body: Statement[] }
  | { type: "Break" | "Continue" | "Comment" };

export interface Macro {
  type: "Macro";
  name: Identifier;
  args: Parameter[];
  body: Statement[];
}

/** A macro's parameter: a name, or a name with a default. */
export type Parameter = Identifier | Keyword;
