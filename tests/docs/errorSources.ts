import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["protocol", "disk", "jobs", "engines", "sdk", "server", "cli", "src"];
const CLASSES = new Set(["KitError"]);
/** The texts of `kit --help` and of errors in its use, and what events are. */
const USAGE = /\/(cli\/(program|command)|protocol\/eventSchemas)\.ts/;
/** Text of several words that begins and ends as a sentence does. */
const SENTENCE =
  /^(?:[A-Z]|createTrainer|kit ui |\$\{(?:entry|caller)\})\S* .* .*(?:[.?!]|with: \$\{.*\})$/s;

/** A sentence that the code can say, under a code or an HTTP status. */
export interface Said {
  /** Empty for one that stands in the code by itself. */
  key: string;
  /** Its words; matches anything where the code fills something in. */
  pattern: RegExp;
  /** `engines/training/train.ts:97` */
  place: string;
}

/** Every error with a code, every error sent over HTTP and every other sentence in the product's code. */
export function findErrors(): Said[] {
  return [...findScriptErrors(), ...findPythonErrors()];
}

/** A code, and the strings beside each other that follow it. */
const PYTHON_ERROR =
  /"([A-Z]+_[A-Z_]+|DIVERGED)",\s*(?:"message": )?((?:f?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*)+)/g;
const PYTHON_STRING = /(f?)(["'])((?:(?!\2)[^\\]|\\.)*)\2/g;

/** Those of the engines' own Python files. */
function findPythonErrors(): Said[] {
  const folder = "engines";
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".py"))
    .flatMap((name) => {
      const text = readFileSync(join(ROOT, folder, name), "utf8");
      return [...text.matchAll(PYTHON_ERROR)].map(({ index, 1: key = "", 2: strings = "" }) => ({
        key,
        pattern: exactly([...strings.matchAll(PYTHON_STRING)].map(pythonPattern).join("")),
        place: `${folder}/${name}:${text.slice(0, index).split("\n").length}`,
      }));
    });
}

function pythonPattern([, formatted, , content = ""]: string[]): string {
  const parts = formatted ? content.split(/\{[^{}]*\}/) : [content];
  return parts.map((part) => escape(part.replaceAll(/\\(.)/g, "$1"))).join(ANYTHING);
}

function findScriptErrors(): Said[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name)),
  );
  return files.flatMap((file) => {
    const source = ts.createSourceFile(
      file,
      readFileSync(join(ROOT, file), "utf8"),
      ts.ScriptTarget.Latest,
      true,
    );
    const found: Said[] = [];
    const keyed = new Set<ts.Node | undefined>();
    const add = (node: ts.Node, key: string, message: ts.Expression | undefined) => {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push({ key, pattern: patternOf(message), place: `${file}:${line + 1}` });
    };
    const visit = (node: ts.Node) => {
      const [key, message] = errorOf(node) ?? [];
      if (key) {
        add(node, key.text, message);
        keyed.add(message);
      } else if (isSentence(node) && !keyed.has(node)) add(node, "", node);
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

type Key = ts.StringLiteral | ts.NumericLiteral;

/** The code or status, and the message, of a node that makes an error. */
function errorOf(node: ts.Node): [Key, ts.Expression | undefined] | undefined {
  if (ts.isNewExpression(node) && CLASSES.has(node.expression.getText())) {
    const [code, message] = node.arguments ?? [];
    if (code && ts.isStringLiteral(code)) return [code, message];
  }
  if (ts.isCallExpression(node) && node.expression.getText() === "sendError") {
    const [, status, message] = node.arguments;
    if (status && ts.isNumericLiteral(status)) return [status, message];
  }
  if (ts.isPropertyAssignment(node)) {
    const status = ts.isComputedPropertyName(node.name) ? valueOf(node.name.expression) : node.name;
    if (status && ts.isNumericLiteral(status) && /^[45]\d\d$/.test(status.text))
      return [status, node.initializer];
  }
  if (ts.isObjectLiteralExpression(node)) {
    const code = property(node, "code");
    if (code && ts.isStringLiteral(code)) return [code, property(node, "message")];
    const status = property(node, "status");
    if (status && ts.isNumericLiteral(status)) return [status, property(node, "error")];
  }
  return undefined;
}

function isSentence(node: ts.Node): node is ts.Expression {
  if (USAGE.test(`/${node.getSourceFile().fileName}`)) return false;
  const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
  return isText && SENTENCE.test(node.getText().slice(1, -1));
}

function property(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const found = node.properties.find((member) => member.name?.getText() === name);
  return found && ts.isPropertyAssignment(found) ? found.initializer : undefined;
}

const ANYTHING = ".+";

function patternOf(message: ts.Expression | undefined): RegExp {
  const text = message && ts.isIdentifier(message) ? valueOf(message) : message;
  if (text && ts.isStringLiteralLike(text)) return exactly(escape(text.text));
  if (!text || !ts.isTemplateExpression(text)) return exactly(ANYTHING);
  const rest = text.templateSpans.map(({ literal }) => ANYTHING + escape(literal.text));
  return exactly([escape(text.head.text), ...rest].join(""));
}

/** The value of a constant of the same file. */
function valueOf(name: ts.Expression): ts.Expression | undefined {
  let value: ts.Expression | undefined;
  const visit = (node: ts.Node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name.getText()) {
      value = node.initializer;
    }
    ts.forEachChild(node, visit);
  };
  visit(name.getSourceFile());
  return value;
}

function exactly(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`, "s");
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
