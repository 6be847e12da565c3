import { readFileSync } from "node:fs";
import type { Kernels } from "./kernels.ts";

/** A compiled module of the kernels, which all threads of a team share. */
export interface KernelModule {
  simd: Simd;
  module: WebAssembly.Module;
}

export function compileKernels(simd: Simd = availableSimd()): KernelModule {
  const file = new URL(`./${simd}.wasm`, import.meta.url);
  return { simd, module: new WebAssembly.Module(readFileSync(file)) };
}

export function instantiate({ module }: KernelModule, memory: WebAssembly.Memory): Kernels {
  const abort = () => {
    throw new Error("a kernel aborted");
  };
  return new WebAssembly.Instance(module, { env: { memory, abort } }).exports as unknown as Kernels;
}
