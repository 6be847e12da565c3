// Compiles the kernels to WebAssembly, with and without relaxed SIMD, into the folder that is named. A part of
// `npm run build`.
import { join, relative, resolve } from "node:path";
import asc from "assemblyscript/asc";
import { ROOT } from "./files.mjs";

const KERNELS = "engines/embedded/kernels";
/** WebAssembly's 4 GiB, in pages; the memory that a module is given may be smaller. */
const MOST_PAGES = 65536;

const FEATURES = { plain: [], relaxed: ["--enable", "relaxed-simd"] };

const outDir = relative(ROOT, resolve(process.argv[2] ?? join(ROOT, "dist")));
for (const [name, features] of Object.entries(FEATURES)) {
  const { error, stderr } = await asc.main([
    `${KERNELS}/assembly/index.ts`,
    ...["--baseDir", ROOT, "--outFile", join(outDir, KERNELS, `${name}.wasm`)],
    ...["-O3", "--noAssert", "--runtime", "stub"],
    ...["--importMemory", "--sharedMemory", "--initialMemory", "1"],
    ...["--maximumMemory", String(MOST_PAGES), "--enable", "simd", "--enable", "threads"],
    ...features,
  ]);
  if (error) {
    console.error(`kit: the kernels do not compile: ${error.message}\n${stderr.toString()}`);
    process.exit(1);
  }
}
