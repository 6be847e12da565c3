import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

/** Called as a program: the types of its package would replace those of JavaScript's own arrays. */
const COMPILER = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
/** WebAssembly's 4 GiB, in pages; the memory that a module is given may be smaller. */
const MOST_PAGES = 65536;

export const RELAXED = ["--enable", "relaxed-simd"];

/**
 * Compiles AssemblyScript to a module that imports a shared memory. Paths are relative to the clone.
 * @throws when it does not compile
 */
export async function compileAssembly(source, outFile, options) {
  const words = [
    ...[COMPILER, source, "--baseDir", ROOT, "--outFile", outFile],
    ...["-O3", "--noAssert", "--runtime", "stub"],
    ...["--importMemory", "--sharedMemory", "--initialMemory", "1"],
    ...["--maximumMemory", String(MOST_PAGES), "--enable", "simd", "--enable", "threads"],
    ...options,
  ];
  const child = spawn(process.execPath, words, { cwd: ROOT, stdio: "inherit" });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`kit: ${source} does not compile, see above.`);
}
