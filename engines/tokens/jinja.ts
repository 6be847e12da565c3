import * as jinja from "@huggingface/jinja";
import { isRecord } from "../../protocol/isRecord.ts";
import { strftime } from "./strftime.ts";
import { type Budget, type Evaluator, limitSteps } from "./templateBudget.ts";
import { limitTime } from "./timeLimit.ts";

/** The part of the library that is used; its own types need a bundler. */
interface Library {
  Template: new (source: string) => { parsed: unknown; render: (values: Values) => string };
  Environment: new () => { set: (name: string, value: unknown) => void };
  Interpreter: new (
    environment: unknown,
  ) => Evaluator & { run: (program: unknown) => { value: unknown } };
}

// Imported, not required: file tracers find no other form.
const { Template, Environment, Interpreter } = jinja as unknown as Library;

type Values = Record<string, unknown>;

/**
 * A template as Python's Jinja renders it.
 * @returns a function that throws where the rendering exceeds its budget
 * @throws Error for a text that is not Jinja
 */
export function createTemplate(source: string): (values: Values, budget: Budget) => string {
  const { parsed } = limitTime(() => new Template(source));
  correct(parsed);
  return (values, { steps, characters, milliseconds }) => {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...GLOBALS, ...values, ...CORRECTIONS })) {
      environment.set(name, value);
    }
    const interpreter = new Interpreter(environment);
    limitSteps(interpreter, steps);
    const text = limitTime(() => String(interpreter.run(parsed).value), milliseconds);
    if (text.length <= characters) return text;
    throw new Error(`it writes more than ${characters} characters`);
  };
}

/** Of Jinja's sandbox, which `transformers` renders in. */
const LONGEST_RANGE = 100_000;

/** The names that every template knows; the library keeps its own to itself. */
const GLOBALS = {
  ...{ true: true, false: false, none: null },
  ...{ True: true, False: false, None: null },
  raise_exception(message: string) {
    throw new Error(message);
  },
  range(first: number, second?: number, step = 1) {
    const [start, end] = second === undefined ? [0, first] : [first, second];
    const length = Math.max(0, Math.ceil((end - start) / step));
    if (length <= LONGEST_RANGE) return Array.from({ length }, (_, i) => start + i * step);
    throw new Error(`it counts further than ${LONGEST_RANGE}`);
  },
  strftime_now: (format: string) => strftime(format, new Date()),
};

/** Names that no template has. */
const [STRIP, EQUALS] = ["kit strip", "kit equals"];

/**
 * Where the library (0.5.11) differs from Python: `strip("\n")` takes any white space away, and
 * `" " == false` is true.
 */
const CORRECTIONS = {
  [STRIP]: (text: string, name: string, characters: string) => {
    const isStripped = (at: number) => characters.includes(text[at] ?? "\0");
    let [start, end] = [0, text.length];
    if (name !== "rstrip") while (start < end && isStripped(start)) start++;
    if (name !== "lstrip") while (start < end && isStripped(end - 1)) end--;
    return text.slice(start, end);
  },
  [EQUALS]: (one: unknown, other: unknown) =>
    typeof one === "number" || typeof other === "number"
      ? Number(one) === Number(other)
      : one === other,
};

type Node = Record<string, unknown>;

/** Replaces such calls and comparisons, in place, wherever they are in the parsed template. */
function correct(node: unknown): void {
  if (Array.isArray(node)) node.forEach(correct);
  if (!isRecord(node)) return;
  Object.values(node).forEach(correct);
  const { type, callee, args, left, right, operator } = node as Node;
  if (type === "CallExpression" && isRecord(callee) && Array.isArray(args) && args.length > 0) {
    const property = callee["property"];
    const name = isRecord(property) ? property["value"] : undefined;
    if (callee["computed"] === false && /^[lr]?strip$/.test(String(name))) {
      const called = { type: "StringLiteral", value: name };
      Object.assign(node, call(STRIP, [callee["object"], called, ...(args as unknown[])]));
    }
  }
  if (type === "BinaryExpression" && isRecord(operator) && [left, right].some(isTruth)) {
    const equal = call(EQUALS, [left, right]);
    if (operator["value"] === "==") Object.assign(node, equal);
    if (operator["value"] === "!=") {
      Object.assign(node, { type: "UnaryExpression", operator: { value: "not" }, argument: equal });
    }
  }
}

function call(name: string, args: unknown[]): Node {
  return { type: "CallExpression", callee: { type: "Identifier", value: name }, args };
}

function isTruth(node: unknown): boolean {
  return (
    isRecord(node) && node["type"] === "Identifier" && /^(true|false)$/i.test(String(node["value"]))
  );
}
