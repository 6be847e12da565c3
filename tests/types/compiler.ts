import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
export const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

const registry = ts.createDocumentRegistry();

/** The names that an editor offers where the source has a `|`. */
export function completions(source: string): string[] {
  const [service, ...place] = openEditor(source);
  return service.getCompletionsAtPosition(...place, {})?.entries.map(({ name }) => name) ?? [];
}

/** The words that an editor shows over the name behind the source's `|`. */
export function hoverText(source: string): string {
  const [service, ...place] = openEditor(source);
  return ts.displayPartsToString(service.getQuickInfoAtPosition(...place)?.documentation);
}

/** An editor that has a source open, with the cursor at its `|`. */
function openEditor(source: string): [ts.LanguageService, path: string, position: number] {
  const path = join(FOLDER, "edited.ts");
  const text = source.replace("|", "");
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => OPTIONS,
    getScriptFileNames: () => [path],
    // The registry keeps what it parsed by a file's name and version.
    getScriptVersion: (name) => (name === path ? text : "1"),
    getScriptSnapshot(name) {
      const content = name === path ? text : ts.sys.readFile(name);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => FOLDER,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === path || ts.sys.fileExists(name),
    readFile: (name) => ts.sys.readFile(name),
  };
  return [ts.createLanguageService(host, registry), path, source.indexOf("|")];
}

/** Parsed once for all programs: the language's own files and Node's are most of what one reads. */
const shared = new Map<string, ts.SourceFile | undefined>();

function createHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (path, language, ...rest) => {
    if (!/\/node_modules\/(typescript\/lib|@types\/node)\//.test(path)) {
      return read(path, language, ...rest);
    }
    if (!shared.has(path)) shared.set(path, read(path, language, ...rest));
    return shared.get(path);
  };
  return host;
}

/** The errors that `tsc --noEmit -p` finds in a project. */
export function typecheck(project: string): string {
  const path = join(project, "tsconfig.json");
  const { config } = ts.readConfigFile(path, (file) => ts.sys.readFile(file));
  const asked = { noEmit: true };
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    project,
    asked,
    path,
  );
  const program = ts.createProgram(fileNames, options, createHost(options));
  const found = [...errors, ...ts.getPreEmitDiagnostics(program)];
  return ts.formatDiagnostics(found, {
    getCurrentDirectory: () => project,
    getCanonicalFileName: (name) => name,
    getNewLine: () => "\n",
  });
}

/** The compiler's errors of each source, as an editor shows them; `kit` is the built package. */
export function compile(sources: string[], options = OPTIONS): string[][] {
  const files = new Map(sources.map((text, i) => [join(FOLDER, `source${i}.ts`), text]));
  const host = createHost(options);
  host.fileExists = (path) => files.has(path) || ts.sys.fileExists(path);
  host.readFile = (path) => files.get(path) ?? ts.sys.readFile(path);
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].map((path) => {
    const source = program.getSourceFile(path);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  });
}
