import { readFileSync } from "node:fs";
import { arch, platform, versions } from "node:process";
import { setFlagsFromString } from "node:v8";
import { ownFile } from "../../../disk/ownFile.ts";
import { BLOCK_TYPES } from "../../modelFiles/numberTypes.ts";
import { type WideKernels, MAX_DEPTH } from "./kernels.ts";

/** Versions of Node whose V8 can join pairs of 128-bit vectors, behind an experimental flag. */
const NODES = new Set(["24", "26"]);
const FLAGS = ["experimental-wasm-revectorize", "wasm-sync-tier-up"];
/** Calls until V8 optimizes the tile, which it does in the 21st, after 13 MB of executed code. */
const CALLS = 64;
/** Likewise for the quantized sums, whose test blocks must fit in one page of memory. */
const SUM_CALLS = 128;
const SUM_BLOCKS = 200;
const SUM_AT = 65_536 - 128;

/**
 * Compiles `assembly/wide.ts` to 256-bit vectors; undefined if this Node or processor has none, because it would be
 * slower than the tile of 8 columns.
 */
export function compileWide(): WebAssembly.Module | undefined {
  const [major = ""] = versions.node.split(".");
  if (!NODES.has(major) || !hasWideVectors()) return undefined;
  const file = ownFile(new URL("./wide.wasm", import.meta.url));
  const module = new WebAssembly.Module(readFileSync(file));
  withJoinedVectors(() => optimize(module));
  return module;
}

/** Lets V8 join vectors in all code that it optimizes during the call. */
export function withJoinedVectors(call: () => void): void {
  for (const flag of FLAGS) setFlagsFromString(`--${flag}`);
  try {
    call();
  } finally {
    for (const flag of FLAGS) setFlagsFromString(`--no-${flag}`);
  }
}

/** Whether this x64 processor has AVX2. Only Linux reveals it; elsewhere nearly all have it. */
function hasWideVectors(): boolean {
  if (arch !== "x64") return false;
  if (platform !== "linux") return true;
  try {
    return /\bavx2\b/.test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    // A sandbox may lack /proc, and Node's --permission may forbid it.
    return false;
  }
}

/** Multiplies zeros until V8 has optimized the module's code, which all instances share. */
function optimize(module: WebAssembly.Module): void {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const { wideTile, wideOne, wideFour } = instantiateWide(module, memory);
  for (let call = 0; call < CALLS; call++) wideTile(MAX_DEPTH, 0, 0, 4, 0, 0, 0, 64, 0, 1);
  for (let call = 0; call < SUM_CALLS; call++) {
    for (const { id } of Object.values(BLOCK_TYPES)) {
      wideOne(id, SUM_BLOCKS, 0, 0, 0, 0, SUM_AT, 0);
      wideFour(id, SUM_BLOCKS, 0, 0, 0, SUM_AT, 0);
    }
  }
}

export function instantiateWide(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
): WideKernels {
  return new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as WideKernels;
}
