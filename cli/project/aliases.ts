import { posix } from "node:path";
import type { Metafile } from "esbuild";
import { KitError } from "../../protocol/error.ts";

/** Begins the names that projects give their own folders, and no package has: `@/lib`, `~/lib`, `#lib`. */
const ALIAS = /^(?:@\/|[#~$])/;

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
