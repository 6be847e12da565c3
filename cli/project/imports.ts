import { existsSync, realpathSync } from "node:fs";
import { dirname, extname, isAbsolute, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { OnResolveArgs, OnResolveResult, Plugin } from "esbuild";

/** What Node imports by itself; JSON only where the import says its type. */
const NODE_READS = new Set(["", ".js", ".mjs", ".cjs", ".node", ".wasm"]);

/** Marks a question of this plugin's own, which it must not ask again. */
const ASKED = { isAsked: true };

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
        const isOther = kind === "entry-point" || isAbsolute(path) || args.pluginData === ASKED;
        if (isOther) return undefined;
        const from = { importer, namespace, resolveDir, with: attributes };
        const options = { kind, ...from, pluginData: ASKED };
        const found = await build.resolve(path, options);
        if (found.errors.length > 0) return { path, external: true };
        if (found.external) return { path: found.path, external: true };
        const isJson = extname(found.path) === ".json";
        if (isInstalled(found.path) && !isJson) return external(project, args, found.path);
        // Not one of tsconfig.json's paths, whose files are the project's own.
        const isPackage = installedFolder(path, resolveDir) !== undefined;
        if (isPackage && NODE_READS.has(extname(found.path)))
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
