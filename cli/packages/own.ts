import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// By its own name, so that it holds for the sources and for what is built from them.
const manifest = createRequire(import.meta.url).resolve("kit/package.json");
const root = dirname(manifest);

/** Where the parts of the package that runs are, as absolute paths. */
export const PACKAGE = {
  root,
  page: join(root, "dist", "page"),
  sdk: join(root, "dist", "sdk", "index.js"),
  templates: join(root, "templates"),
  /** The script that runs now, to be run again as a subprocess. */
  cli: fileURLToPath(new URL("../kit.js", import.meta.url)),
};

export function packageVersion(): string {
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
