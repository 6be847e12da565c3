import { Template } from "@huggingface/jinja";
import { isRecord } from "../../protocol/isRecord.ts";

/** A template as Python's Jinja renders it. @throws Error for a text that is not Jinja */
export function createTemplate(source: string): (values: Record<string, unknown>) => string {
  const template = new Template(source);
  correct(template.parsed);
  return (values) => template.render({ ...values, ...CORRECTIONS });
}

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
