// Compiles the kernels to WebAssembly, with and without relaxed SIMD, and the wide tile, into the given folder,
// with their TypeScript types. Part of `npm run build`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { ROOT } from "./files.mjs";

/** Run as a program, because its package's types would replace those of JavaScript's arrays. */
const COMPILER = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
/** WebAssembly's limit of 4 GiB, in pages; a module's memory may be smaller. */
const MAX_PAGES = 65536;

const RELAXED = ["--enable", "relaxed-simd"];

const KERNELS = "engines/embedded/kernels";
/** Each module's source and compiler options. */
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
// Generated with the types; the engine instantiates its modules itself.
rmSync(join(ROOT, outDir, "plain.js"));

/**
 * Compiles AssemblyScript to a module that imports a shared memory. Paths are relative to the clone.
 * @throws if it does not compile
 */
async function compileAssembly(source, outFile, options) {
  const words = [
    COMPILER,
    source,
    "--baseDir",
    ROOT,
    "--outFile",
    outFile,
    "-O3",
    "--noAssert",
    "--runtime",
    "stub",
    "--importMemory",
    "--sharedMemory",
    "--initialMemory",
    "1",
    "--maximumMemory",
    String(MAX_PAGES),
    "--enable",
    "simd",
    "--enable",
    "threads",
    ...options,
  ];
  const child = spawn(process.execPath, words, { cwd: ROOT, stdio: "inherit" });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`kit: ${source} does not compile, see above.`);
}
