import { bindArguments } from "./arguments.ts";
import { filterOf } from "./filters.ts";
import { type Scope, createLoop, createScope } from "./globals.ts";
import { attributeOf, sliced } from "./members.ts";
import { operate, signed } from "./operators.ts";
import { testOf } from "./predicates.ts";
import { str } from "./str.ts";
import type {
  AppliedFilter,
  Argument,
  Call,
  Expression,
  Macro,
  Parameter,
  Slice,
  Statement,
} from "./syntax.ts";
import { UnsupportedInTemplate, tooLargeInteger } from "./unsupported.ts";
import {
  type Callable,
  Attributes,
  asFloat,
  isTrue,
  iterate,
  dictKey,
  tuple,
  typeName,
} from "./values.ts";

/** How a block ended early. */
type Jump = "Break" | "Continue" | undefined;

/** Appends to the rendered text. */
type Write = (text: string) => void;

/**
 * Evaluates a parsed template as Python's Jinja does.
 * @param spend called with each step's value; throws beyond the budget
 */
export function createInterpreter(spend: (value: unknown) => void): {
  render: (body: Statement[], scope: Scope) => string;
} {
  function render(body: Statement[], scope: Scope): string {
    const texts: string[] = [];
    run(body, scope, (text) => void texts.push(text));
    return texts.join("");
  }

  function run(body: Statement[], scope: Scope, write: Write): Jump {
    for (const statement of body) {
      const jump = execute(statement, scope, write);
      if (jump) return jump;
    }
    return undefined;
  }

  function execute(statement: Statement, scope: Scope, write: Write): Jump {
    switch (statement.type) {
      case "If": {
        const { test, body, alternate } = statement;
        spend(undefined);
        return run(isTrue(evaluate(test, scope)) ? body : alternate, scope, write);
      }
      case "For":
        return void loop(statement, scope, write);
      case "Set": {
        const { assignee, value, body } = statement;
        const assigned = value ? evaluate(value, scope) : render(body, createScope(scope));
        return void assign(assignee, assigned, scope);
      }
      case "Macro":
        return void scope.set(statement.name.value, macro(statement, scope));
      case "CallStatement": {
        const { call, callerArgs: args, body } = statement;
        const name = { type: "Identifier" as const, value: "caller" };
        const caller = macro({ type: "Macro", name, args: args ?? [], body }, scope);
        return void write(str(callFunction(call, scope, caller)));
      }
      case "FilterStatement":
        return void write(
          str(applyFilter(render(statement.body, createScope(scope)), statement.filter, scope)),
        );
      case "Break":
      case "Continue":
        return statement.type;
      case "Comment":
        return undefined;
      default:
        return void write(str(evaluate(statement, scope)));
    }
  }

  function loop(
    { loopvar, iterable, body, defaultBlock }: Extract<Statement, { type: "For" }>,
    scope: Scope,
    write: Write,
  ): void {
    const isFiltered = iterable.type === "SelectExpression";
    const all = iterate(evaluate(isFiltered ? iterable.lhs : iterable, scope));
    const scopeOf = (item: unknown) => {
      const inner = createScope(scope);
      assign(loopvar, item, inner);
      return inner;
    };
    const items = isFiltered
      ? all.filter((item) => isTrue(evaluate(iterable.test, scopeOf(item))))
      : all;
    if (items.length === 0) return void run(defaultBlock, createScope(scope), write);
    const { attributes, advance } = createLoop(items);
    for (const item of items) {
      spend(undefined);
      const inner = scopeOf(item);
      inner.set("loop", attributes);
      if (run(body, inner, write) === "Break") return;
      advance();
    }
  }

  function assign(target: Expression, value: unknown, scope: Scope): void {
    if (target.type === "Identifier") return scope.set(target.value, value);
    if (target.type === "TupleLiteral") {
      const values = iterate(value);
      if (values.length !== target.value.length) {
        throw new Error(`it unpacks ${values.length} values into ${target.value.length} variables`);
      }
      return target.value.forEach((variable, i) => assign(variable, values[i], scope));
    }
    const { object, property } = target as Extract<Expression, { type: "MemberExpression" }>;
    const owner = object && evaluate(object, scope);
    if (!(owner instanceof Attributes && owner.set && property.type === "Identifier")) {
      throw new Error("it sets an attribute of something other than a namespace");
    }
    owner.set(property.value, value);
  }

  function macro({ args, body }: Macro, scope: Scope): Callable {
    const names = args.map(nameOf);
    const takesVarargs = readsVariable(body, "varargs");
    const takesKwargs = readsVariable(body, "kwargs");
    return (positional, kwargs) => {
      const inner = createScope(scope);
      const caller = kwargs.get("caller");
      const otherKwargs = new Map(
        [...kwargs].filter(([name]) => !names.includes(name) && name !== "caller"),
      );
      const ownKwargs = new Map([...kwargs].filter(([name]) => names.includes(name)));
      if (takesVarargs) inner.set("varargs", tuple(positional.slice(names.length)));
      if (takesKwargs) inner.set("kwargs", otherKwargs);
      if (caller !== undefined) inner.set("caller", caller);
      const values = bindArguments(
        names,
        takesVarargs ? positional.slice(0, names.length) : positional,
        takesKwargs ? ownKwargs : new Map([...ownKwargs, ...otherKwargs]),
      );
      for (const [i, arg] of args.entries()) {
        const isGiven = i < positional.length || ownKwargs.has(names[i]!);
        const value = isGiven || arg.type === "Identifier" ? values[i] : evaluate(arg.value, inner);
        inner.set(names[i]!, value);
      }
      return render(body, inner);
    };
  }

  function evaluate(node: Expression | Slice, scope: Scope): unknown {
    const value = valueOf(node, scope);
    // A variable's value was counted when it was computed.
    spend(node.type === "Identifier" ? undefined : value);
    return value;
  }

  function valueOf(node: Expression | Slice, scope: Scope): unknown {
    switch (node.type) {
      case "IntegerLiteral":
        if (!Number.isSafeInteger(node.value)) throw tooLargeInteger("has");
        return node.value;
      case "StringLiteral":
        return node.value;
      case "FloatLiteral":
        return asFloat(node.value);
      case "ArrayLiteral":
        return node.value.map((item) => evaluate(item, scope));
      case "TupleLiteral":
        return tuple(node.value.map((item) => evaluate(item, scope)));
      case "ObjectLiteral":
        return new Map(
          [...node.value].map(([key, value]) => [
            dictKey(evaluate(key, scope)),
            evaluate(value, scope),
          ]),
        );
      case "Identifier":
        return scope.get(node.value);
      case "MemberExpression":
        return readMember(node, scope);
      case "CallExpression":
        return callFunction(node, scope);
      case "FilterExpression":
        return applyFilter(evaluate(node.operand, scope), node.filter, scope);
      case "TestExpression":
        return testOf(node.test.value)(evaluate(node.operand, scope)) !== node.negate;
      case "SelectExpression":
        return isTrue(evaluate(node.test, scope)) ? evaluate(node.lhs, scope) : undefined;
      case "Ternary":
        return evaluate(
          isTrue(evaluate(node.condition, scope)) ? node.trueExpr : node.falseExpr,
          scope,
        );
      case "UnaryExpression": {
        const value = evaluate(node.argument, scope);
        return node.operator.value === "not" ? !isTrue(value) : signed(node.operator.value, value);
      }
      case "BinaryExpression":
        return evaluateBinary(node, scope);
      case "SliceExpression":
        throw new Error("it has a slice outside brackets");
    }
  }

  function evaluateBinary(
    { operator, left, right }: Extract<Expression, { type: "BinaryExpression" }>,
    scope: Scope,
  ): unknown {
    const first = evaluate(left, scope);
    if (operator.value === "and") return isTrue(first) ? evaluate(right, scope) : first;
    if (operator.value === "or") return isTrue(first) ? first : evaluate(right, scope);
    return operate(operator.value, first, evaluate(right, scope));
  }

  function readMember(
    { object, property, computed }: Extract<Expression, { type: "MemberExpression" }>,
    scope: Scope,
  ): unknown {
    const owner = evaluate(object, scope);
    if (property.type === "SliceExpression") {
      const { start, stop, step } = property;
      return sliced(
        owner,
        [start, stop, step].map((bound) => bound && evaluate(bound, scope)),
      );
    }
    const isNamed = !computed && property.type === "Identifier";
    const name = isNamed ? property.value : evaluate(property, scope);
    return attributeOf(owner, name, isNamed ? "attribute" : "item");
  }

  function callFunction({ callee, args }: Call, scope: Scope, caller?: Callable): unknown {
    const callable = evaluate(callee, scope);
    const { positional, kwargs } = argumentsIn(args, scope);
    if (caller) kwargs.set("caller", caller);
    if (typeof callable === "function") return (callable as Callable)(positional, kwargs);
    const calleeName = callee.type === "MemberExpression" ? callee.property : callee;
    const name = calleeName.type === "Identifier" ? ` "${calleeName.value}"` : "";
    if (callable === undefined) throw new UnsupportedInTemplate(`it calls${name || " a value"}`);
    throw new Error(`it calls${name && `${name},`} a ${typeName(callable)}, not a function`);
  }

  function applyFilter(value: unknown, filter: AppliedFilter, scope: Scope): unknown {
    if (filter.type === "Identifier") return filterOf(filter.value)(value, [], new Map());
    const { positional, kwargs } = argumentsIn(filter.args, scope);
    return filterOf(str((filter.callee as { value?: unknown }).value))(value, positional, kwargs);
  }

  function argumentsIn(args: readonly Argument[], scope: Scope) {
    const positional: unknown[] = [];
    const kwargs = new Map<string, unknown>();
    for (const arg of args) {
      if (arg.type === "KeywordArgumentExpression") {
        kwargs.set(arg.key.value, evaluate(arg.value, scope));
      } else if (arg.type === "SpreadExpression") {
        positional.push(...iterate(evaluate(arg.argument, scope)));
      } else if (arg.type === "KeywordSpreadExpression") {
        const more = evaluate(arg.argument, scope);
        for (const name of iterate(more))
          kwargs.set(str(name), (more as Map<unknown, unknown>).get(name));
      } else positional.push(evaluate(arg, scope));
    }
    return { positional, kwargs };
  }

  return { render };
}

const nameOf = (parameter: Parameter) =>
  parameter.type === "Identifier" ? parameter.value : parameter.key.value;

/** Whether a part of a template reads a variable. */
function readsVariable(node: unknown, name: string): boolean {
  if (typeof node !== "object" || node === null) return false;
  if (node instanceof Map) return [...node].some((pair) => readsVariable(pair, name));
  const { type, value } = node as { type?: unknown; value?: unknown };
  if (type === "Identifier") return value === name;
  return Object.values(node).some((part) => readsVariable(part, name));
}
