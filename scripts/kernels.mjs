// Compiles the kernels to WebAssembly, with and without relaxed SIMD, and the wide tile, into the folder that is
// named, with the kernels' types as JavaScript sees them. A part of `npm run build`.
import { rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { RELAXED, compileAssembly } from "./assembly.mjs";
import { ROOT } from "./files.mjs";

const KERNELS = "engines/embedded/kernels";
/** Each module's source and what it is compiled with. */
const MODULES = {
  plain: ["index", ["--bindings", "raw"]],
  relaxed: ["index", RELAXED],
  wide: ["wide", RELAXED],
};

const outDir = relative(ROOT, resolve(process.argv[2] ?? join(ROOT, "dist", KERNELS)));
await Promise.all(
  Object.entries(MODULES).map(([name, [source, options]]) =>
    compileAssembly(`${KERNELS}/assembly/${source}.ts`, join(outDir, `${name}.wasm`), options),
  ),
);
// It comes with the types; the engine instantiates its modules itself.
rmSync(join(ROOT, outDir, "plain.js"));
