// Compiles the kernels to WebAssembly, with and without relaxed SIMD, and the wide tile, into the folder that is
// named. A part of `npm run build`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, relative, resolve } from "node:path";
import { ROOT } from "./files.mjs";

const KERNELS = "engines/embedded/kernels";
/** Called as a program: the types of its package would replace those of JavaScript's own arrays. */
const COMPILER = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
/** WebAssembly's 4 GiB, in pages; the memory that a module is given may be smaller. */
const MOST_PAGES = 65536;

const RELAXED = ["--enable", "relaxed-simd"];
/** Each module's source and what it is compiled with. */
const MODULES = {
  plain: ["index", []],
  relaxed: ["index", RELAXED],
  wide: ["wide", RELAXED],
};

const outDir = relative(ROOT, resolve(process.argv[2] ?? join(ROOT, "dist", KERNELS)));
const codes = await Promise.all(Object.entries(MODULES).map(compile));
if (codes.some((code) => code !== 0)) {
  console.error("kit: the kernels do not compile, see above.");
  process.exitCode = 1;
}

/** Resolves with the compiler's exit code. */
async function compile([name, [source, features]]) {
  const words = [
    ...[COMPILER, `${KERNELS}/assembly/${source}.ts`],
    ...["--baseDir", ROOT, "--outFile", join(outDir, `${name}.wasm`)],
    ...["-O3", "--noAssert", "--runtime", "stub"],
    ...["--importMemory", "--sharedMemory", "--initialMemory", "1"],
    ...["--maximumMemory", String(MOST_PAGES), "--enable", "simd", "--enable", "threads"],
    ...features,
  ];
  const child = spawn(process.execPath, words, { cwd: ROOT, stdio: "inherit" });
  const [code] = await once(child, "close");
  return code;
}
