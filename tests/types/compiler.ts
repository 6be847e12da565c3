import { fileURLToPath } from "node:url";
import { join } from "node:path";
import ts from "typescript";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

/** What the compiler says of each source, as an editor shows it; `kit` is the built package. */
export function compile(sources: string[]): string[][] {
  const files = new Map(sources.map((text, i) => [join(FOLDER, `source${i}.ts`), text]));
  const host = ts.createCompilerHost(OPTIONS);
  host.fileExists = (path) => files.has(path) || ts.sys.fileExists(path);
  host.readFile = (path) => files.get(path) ?? ts.sys.readFile(path);
  const program = ts.createProgram([...files.keys()], OPTIONS, host);
  return [...files.keys()].map((path) => {
    const source = program.getSourceFile(path);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  });
}
