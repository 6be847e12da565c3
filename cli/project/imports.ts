import { existsSync, realpathSync } from "node:fs";
import { dirname, extname, isAbsolute, join, posix, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Metafile, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { pathInside } from "../../jobs/paths.ts";
import { KitError } from "../../protocol/error.ts";

/** Extensions that Node can import without a loader. */
const NODE_EXTENSIONS = new Set(["", ".js", ".mjs", ".cjs", ".node", ".wasm"]);

/** Marks this plugin's own calls to `resolve`, to prevent recursion. */
const RESOLVING = { isResolving: true };

/** Path aliases such as `@/lib`, `~/lib` and `#lib`. No package name begins like these. */
const ALIAS = /^(?:@\/|[#~$])/;

/** Leaves packages external, but bundles the workspace's TypeScript packages, which Node can't import. */
export function packageImports(project: string): Plugin {
  return {
    name: "package-imports",
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, async (args) => {
        const { path, kind, importer, namespace, resolveDir, with: attributes } = args;
        const isLeftToEsbuild =
          kind === "entry-point" || isAbsolute(path) || args.pluginData === RESOLVING;
        if (isLeftToEsbuild) return undefined;
        const from = { importer, namespace, resolveDir, with: attributes };
        const options = { kind, ...from, pluginData: RESOLVING };
        const resolved = await build.resolve(path, options);
        if (resolved.errors.length > 0) return { path, external: true };
        if (resolved.external) return { path: resolved.path, external: true };
        const isJson = extname(resolved.path) === ".json";
        if (isInstalled(resolved.path) && !isJson) return external(project, args, resolved.path);
        // An alias under tsconfig's `paths` resolves to the project's own files.
        const isPackage = installedFolder(path, resolveDir) !== undefined;
        if (isPackage && NODE_EXTENSIONS.has(extname(resolved.path)))
          return external(project, args, resolved.path);
        const { sideEffects, suffix } = resolved;
        return { path: resolved.path, namespace: resolved.namespace, sideEffects, suffix };
      });
    },
  };
}

function isInstalled(path: string): boolean {
  return path.split(sep).includes("node_modules");
}

/** Imports by name, or by path if the name would resolve differently, or not at all, from the bundle. */
function external(
  project: string,
  { path, importer, resolveDir }: OnResolveArgs,
  file: string,
): OnResolveResult {
  const isOwn = pathInside(project, importer) !== undefined;
  const resolvesAlike =
    isOwn || installedFolder(path, project) === installedFolder(path, resolveDir);
  return { path: resolvesAlike ? path : pathToFileURL(file).href, external: true };
}

/** The package's real folder, as Node finds it from a folder. */
function installedFolder(path: string, from: string): string | undefined {
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path;
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(candidate)) return realpathSync(candidate);
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Reports unresolved aliases, which would otherwise count as packages.
 * @throws KitError `BUILD_FAILED` for an alias that doesn't resolve to a file
 */
export function refuseAliases({ inputs, outputs }: Metafile): void {
  const imports = Object.values(outputs).flatMap((output) => output.imports);
  const path = imports.find((imported) => imported.external && ALIAS.test(imported.path))?.path;
  if (path === undefined) return;
  const importsIt = (input: Metafile["inputs"][string]) =>
    input.imports.some((i) => i.path === path);
  const [file] = Object.entries(inputs).find(([, input]) => importsIt(input)) ?? [];
  throw new KitError(
    "BUILD_FAILED",
    `${file} imports "${path}", which doesn't resolve to a file. Set "paths": ${pathsFor(path)} in the compilerOptions of tsconfig.json, or import it by its relative path.`,
  );
}

/** The usual setting for an alias: `{ "@/*": ["./src/*"] }`. */
function pathsFor(path: string): string {
  const [alias = "", ...rest] = path.split("/");
  const end = rest.length > 0 ? "*" : "";
  const target = posix.join("src", alias.slice(1), end);
  return `{ "${posix.join(alias, end)}": ["./${target}"] }`;
}
