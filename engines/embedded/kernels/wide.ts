import { readFileSync } from "node:fs";
import { arch, platform, versions } from "node:process";
import { setFlagsFromString } from "node:v8";

/** Versions of Node whose V8 joins pairs of 128-bit vectors, by a flag that it calls experimental. */
const NODES = new Set(["24", "26"]);
/** At once and by the optimizing compiler, which joins the pairs. */
const WIDE = ["--no-liftoff", "--no-wasm-lazy-compilation", "--experimental-wasm-revectorize"];
const ORDINARY = ["--liftoff", "--wasm-lazy-compilation", "--no-experimental-wasm-revectorize"];

/**
 * Compiles `assembly/wide.ts` to vectors of 256 bits; undefined where this Node or this processor has
 * none, on which it would be slower than the tile of 8 columns. V8's flags hold for this module alone.
 */
export function compileWide(): WebAssembly.Module | undefined {
  const [major = ""] = versions.node.split(".");
  if (!NODES.has(major) || !hasWideVectors()) return undefined;
  const bytes = readFileSync(new URL("./wide.wasm", import.meta.url));
  WIDE.forEach(setFlagsFromString);
  try {
    return new WebAssembly.Module(bytes);
  } finally {
    ORDINARY.forEach(setFlagsFromString);
  }
}

/** Whether it is an x64 processor with AVX2, as all are that Windows 11 and macOS run on. */
function hasWideVectors(): boolean {
  if (arch !== "x64") return false;
  return platform !== "linux" || / avx2 /.test(readFileSync("/proc/cpuinfo", "utf8"));
}
