import { resolve } from "node:path";
import * as engines from "kit/engines";
import ts from "typescript";
import { describe, expect, it, test } from "vitest";
import { OPTIONS, compile } from "./compiler.ts";

const ENTRIES = ["index", "engines", "metrics"].map((name) =>
  resolve(import.meta.dirname, `../../dist/sdk/${name}.d.ts`),
);
const ENGINES = Object.keys(engines);
const program = ts.createProgram(ENTRIES, OPTIONS);
const checker = program.getTypeChecker();

interface Documented {
  name: string;
  text: string;
  examples: string[];
  isOptional: boolean;
}

/** What users import, and the parts of its types that Kit declares. */
const PUBLIC = new Map(
  ENTRIES.flatMap((path) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!;
    return checker.getExportsOfModule(module).flatMap((exported) => {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const type = checker.getDeclaredTypeOfSymbol(symbol);
      const types = type.isUnion() ? type.types : [type];
      const parts = types.flatMap((one) => one.getProperties()).filter(isOurs);
      return [
        documented(exported.name, symbol),
        ...parts.map((part) => documented(`${exported.name}.${part.name}`, part)),
      ];
    });
  }).map((one) => [one.name, one]),
);

/** Not of a built-in type, nor what a union only forbids. */
function isOurs(symbol: ts.Symbol): boolean {
  const isForbidden = (checker.getTypeOfSymbol(symbol).flags & ts.TypeFlags.Undefined) !== 0;
  const files = symbol.declarations?.map((node) => node.getSourceFile().fileName) ?? [];
  return !isForbidden && files.some((file) => file.includes("/dist/"));
}

function documented(name: string, symbol: ts.Symbol): Documented {
  const tags = symbol.getJsDocTags(checker).filter((tag) => tag.name === "example");
  return {
    name,
    text: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
    examples: tags.map(({ text }) => ts.displayPartsToString(text)),
    isOptional: (symbol.flags & ts.SymbolFlags.Optional) !== 0,
  };
}

/** Whose optional parts users leave out, so that they have to know what holds then. */
const OPTION_TYPES = [
  ...["TrainerOptions", "LoraOptions", "LoadModelOptions", "InferRequest"],
  ...["PythonOptions", "RayOptions", "LlamaOptions", "ArtifactFetchOptions"],
];

const CALLBACKS = [
  ...[
    "onStarted",
    "onLog",
    "onCheckpoint",
    "onEvaluated",
    "onCompleted",
    "onFailed",
    "onCancelled",
  ],
];

describe("the public surface", () => {
  it("says what each part is", () => {
    const silent = [...PUBLIC.values()].filter(({ text }) => text === "");
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it("says what holds without an option", () => {
    const optional = [...PUBLIC.values()].filter(
      ({ name, isOptional }) => isOptional && OPTION_TYPES.includes(name.split(".")[0]!),
    );
    expect(optional.length).toBeGreaterThan(40);
    const silent = optional.filter(({ text }) => !/\bdefault\b|in(?: place|stead) of/i.test(text));
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it.each([
    ...["createTrainer", "createKit", "loadModel", ...ENGINES],
    ...["LoadedModel.infer", "Infer"],
    ...["Trainer.wait", "Trainer.cancel", "Artifact.fetch", "TrainerOptions.abortSignal"],
    "TrainerOptions.evaluate",
    ...CALLBACKS.map((name) => `TrainerCallbacks.${name}`),
  ])("has an example of %s", (name) => {
    expect(PUBLIC.get(name)?.examples).not.toEqual([]);
  });
});

/** What an example leaves out: a trainer around a callback or an option, and names that speak for themselves. */
function completed(example: string, name: string): string {
  const [type = "", part = ""] = name.split(".");
  const isPart = /^(on\w+|abortSignal|evaluate)$/.test(part) || example.startsWith("evaluate:");
  const options = type === "TrainerCallbacks" ? `callbacks: { ${example} }` : example;
  return `
import type { Artifact, Infer, Trainer } from "kit";
import { createKit, createTrainer, loadModel } from "kit";
import { ${ENGINES.join(", ")} } from "kit/engines";
import { exactMatch, jsonFields, labels, validJson } from "kit/metrics";
declare const [dataset, trainer, artifact, infer]: [
  { type: "jsonl"; path: string }, Trainer, Artifact, Infer];
void [createKit, createTrainer, loadModel, ${ENGINES.join(", ")}, exactMatch, jsonFields, labels, validJson, dataset, trainer, artifact, infer];
{
${isPart ? `createTrainer({ name: "tiny", dataset, ${options} });` : example.replaceAll(/^import .*$/gm, "").replace("export default", "void")}
}`;
}

test("examples compile", () => {
  const examples = [...PUBLIC.values()].flatMap(({ name, examples: own }) =>
    own.map((text) => [name, completed(text, name)] as const),
  );
  const errors = compile(examples.map(([, source]) => source));
  const wrong = examples.flatMap(([name, source], i) =>
    errors[i]!.length > 0 ? [{ name, source, errors: errors[i] }] : [],
  );
  expect(wrong).toEqual([]);
});
