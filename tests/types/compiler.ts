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

/** The names that an editor offers where the source has a `|`. */
export function completions(source: string): string[] {
  const path = join(FOLDER, "completed.ts");
  const text = source.replace("|", "");
  const service = ts.createLanguageService({
    getCompilationSettings: () => OPTIONS,
    getScriptFileNames: () => [path],
    getScriptVersion: () => "1",
    getScriptSnapshot(name) {
      const content = name === path ? text : ts.sys.readFile(name);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => FOLDER,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === path || ts.sys.fileExists(name),
    readFile: (name) => ts.sys.readFile(name),
  });
  const found = service.getCompletionsAtPosition(path, source.indexOf("|"), {});
  return found?.entries.map(({ name }) => name) ?? [];
}

/** The compiler's errors of each source, as an editor shows them; `kit` is the built package. */
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
