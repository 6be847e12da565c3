import { existsSync, realpathSync } from "node:fs";
import { dirname, extname, isAbsolute, join, posix, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { Metafile, OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { KitError } from "../../protocol/error.ts";

/** What Node imports by itself; JSON only where the import says its type. */
const NODE_EXTENSIONS = new Set(["", ".js", ".mjs", ".cjs", ".node", ".wasm"]);

/** Marks a question of this plugin's own, which it must not ask again. */
const RESOLVING = { isResolving: true };

/** Begins the names that projects give their own folders, and no package has: `@/lib`, `~/lib`, `#lib`. */
const ALIAS = /^(?:@\/|[#~$])/;

/**
 * Leaves packages as imports of the bundle, for Node to find. A package of the workspace that is TypeScript is
 * bundled as the project's own code: Node can't read it.
 */
export function packageImports(project: string): Plugin {
  return {
    name: "package-imports",
    setup(build) {
      build.onResolve({ filter: /^[^./]/ }, async (args) => {
        const { path, kind, importer, namespace, resolveDir, with: attributes } = args;
        const isOther = kind === "entry-point" || isAbsolute(path) || args.pluginData === RESOLVING;
        if (isOther) return undefined;
        const from = { importer, namespace, resolveDir, with: attributes };
        const options = { kind, ...from, pluginData: RESOLVING };
        const found = await build.resolve(path, options);
        if (found.errors.length > 0) return { path, external: true };
        if (found.external) return { path: found.path, external: true };
        const isJson = extname(found.path) === ".json";
        if (isInstalled(found.path) && !isJson) return external(project, args, found.path);
        // Not one of tsconfig.json's paths, whose files are the project's own.
        const isPackage = installedFolder(path, resolveDir) !== undefined;
        if (isPackage && NODE_EXTENSIONS.has(extname(found.path)))
          return external(project, args, found.path);
        const { sideEffects, suffix } = found;
        return { path: found.path, namespace: found.namespace, sideEffects, suffix };
      });
    },
  };
}

function isInstalled(path: string): boolean {
  return path.split(sep).includes("node_modules");
}

/** By its name, unless the bundle's place would find another package, or none, under it. */
function external(
  project: string,
  { path, importer, resolveDir }: OnResolveArgs,
  file: string,
): OnResolveResult {
  const isOwn = !relative(project, importer).startsWith("..");
  const isSame = isOwn || installedFolder(path, project) === installedFolder(path, resolveDir);
  return { path: isSame ? path : pathToFileURL(file).href, external: true };
}

/** The package's real folder, where Node finds it from this one. */
function installedFolder(path: string, from: string): string | undefined {
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path;
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(found)) return realpathSync(found);
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Without this, what the bundler does not find would count as a package.
 * @throws KitError `BUILD_FAILED` for an import by an alias that leads to no file
 */
export function refuseAliases({ inputs, outputs }: Metafile): void {
  const imports = Object.values(outputs).flatMap((output) => output.imports);
  const path = imports.find((one) => one.external && ALIAS.test(one.path))?.path;
  if (path === undefined) return;
  const [file] =
    Object.entries(inputs).find(([, input]) => input.imports.some((one) => one.path === path)) ??
    [];
  throw new KitError(
    "BUILD_FAILED",
    `${file} imports "${path}", which leads to no file. Set "paths": ${pathsFor(path)} in the compilerOptions of tsconfig.json, or import it by its relative path.`,
  );
}

/** As most projects would have it: `{ "@/*": ["./src/*"] }`. */
function pathsFor(path: string): string {
  const [alias = "", ...rest] = path.split("/");
  const end = rest.length > 0 ? "*" : "";
  const target = posix.join("src", alias.slice(1), end);
  return `{ "${posix.join(alias, end)}": ["./${target}"] }`;
}
