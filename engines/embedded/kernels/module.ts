import { readFileSync } from "node:fs";
import type { Address, Kernels } from "./kernels.ts";
import { type Simd, availableSimd } from "./simd.ts";

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
  const words = new Int32Array(memory.buffer);
  const env = {
    memory,
    sleep: (word: Address, value: number) => Atomics.wait(words, word >>> 2, value),
    wake: (word: Address) => Atomics.notify(words, word >>> 2),
    abort() {
      throw new Error("a kernel aborted");
    },
  };
  return new WebAssembly.Instance(module, { env }).exports as unknown as Kernels;
}
