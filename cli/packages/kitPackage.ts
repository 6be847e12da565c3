import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Resolved by name, because the path from here differs between the sources and dist/.
const root = dirname(createRequire(import.meta.url).resolve("kit/package.json"));

/** The running package's parts, as absolute paths. */
export const PACKAGE = {
  root,
  page: join(root, "dist", "page"),
  /** By the names that a project imports. */
  exports: {
    kit: join(root, "dist", "sdk", "index.js"),
    "kit/engines": join(root, "dist", "sdk", "engines.js"),
    "kit/metrics": join(root, "dist", "sdk", "metrics.js"),
  },
  pythonLock: join(root, "dist", "engines", "python", "requirements.txt"),
  templates: join(root, "templates"),
  /** The running script, for subprocesses. */
  cli: fileURLToPath(new URL("../kit.js", import.meta.url)),
};
