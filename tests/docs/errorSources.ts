import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["protocol", "jobs", "engine", "sdk", "server", "cli"];
const CLASSES = new Set(["KitError", "EngineError"]);

/** A sentence that the code can say, under a code or an HTTP status. */
export interface Said {
  key: string;
  /** What it says; anything stands where the code fills something in. */
  pattern: RegExp;
  /** `engine/train.ts:97` */
  place: string;
}

/** Every error that the product's code makes with a code of its own, and every one it answers by HTTP. */
export function findErrors(): Said[] {
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
    const visit = (node: ts.Node) => {
      const pair = errorOf(node);
      if (pair) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        const [key, message] = pair;
        found.push({ key: key.text, pattern: patternOf(message), place: `${file}:${line + 1}` });
      }
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
  if (ts.isObjectLiteralExpression(node)) {
    const code = property(node, "code");
    if (code && ts.isStringLiteral(code)) return [code, property(node, "message")];
    const status = property(node, "status");
    if (status && ts.isNumericLiteral(status)) return [status, property(node, "error")];
  }
  return undefined;
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

/** What a constant of the same file is declared with. */
function valueOf(name: ts.Identifier): ts.Expression | undefined {
  let value: ts.Expression | undefined;
  const visit = (node: ts.Node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name.text) {
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
