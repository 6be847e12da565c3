import { readFileSync } from "node:fs";
import { ownFile } from "../../ownFile.ts";
import { allocate, createArena } from "./arena.ts";
import { hasDotProducts } from "./dots.ts";
import { type Address, type Kernels, CONTROL_BYTES, OWN_BYTES } from "./kernels.ts";
import { quantizedBytes, quantizedInputBytes } from "./quantized.ts";
import { type Simd, availableSimd } from "./simd.ts";
import { compileWide, instantiateWide } from "./wide.ts";

/** The compiled kernels, which all threads of a team share. */
export interface KernelModule {
  simd: Simd;
  module: WebAssembly.Module;
  /** The product's tile on vectors of 256 bits: the same numbers, sooner. */
  wide?: WebAssembly.Module;
  /** Whether relaxed dot products multiply quantized weights: the same numbers, sooner. */
  dots?: boolean;
}

export function compileKernels(simd: Simd = availableSimd()): KernelModule {
  const file =
    simd === "plain"
      ? ownFile(new URL("./plain.wasm", import.meta.url))
      : ownFile(new URL("./relaxed.wasm", import.meta.url));
  const module = new WebAssembly.Module(readFileSync(file));
  const dots = simd === "relaxed" && hasDotProducts() && areDotsExact({ simd, module });
  const ordinary = { simd, module, dots };
  const wide = simd === "relaxed" ? compileWide() : undefined;
  // V8 calls joining vectors an experiment, so the wide tile is used only if it gives the same bits.
  return wide && testProduct(ordinary) === testProduct({ ...ordinary, wide })
    ? { ...ordinary, wide }
    : ordinary;
}

export function instantiate(
  { module, wide, dots }: KernelModule,
  memory: WebAssembly.Memory,
): Kernels {
  const words = new Int32Array(memory.buffer);
  const abort = () => {
    throw new Error("a kernel aborted");
  };
  const env = {
    memory,
    sleep: (word: Address, value: number) => Atomics.wait(words, word >>> 2, value),
    wake: (word: Address) => Atomics.notify(words, word >>> 2),
    abort,
    wideTile: wide ? instantiateWide(wide, memory).wideTile : abort,
  };
  const kernels = new WebAssembly.Instance(module, { env }).exports as unknown as Kernels;
  if (wide) kernels.widen();
  if (dots) kernels.useDots();
  return kernels;
}

/** Returns the bits of a product with an added term, over whole tiles and a tile of one row. */
function testProduct(module: KernelModule): string {
  const [rows, columns, depth] = [7, 24, 65];
  const arena = createArena();
  const [control, own] = [arena.bytes("work", CONTROL_BYTES), arena.bytes("work", OWN_BYTES)];
  const sizes = [rows * depth, depth * columns, rows * columns];
  const [a = 0, b = 0, c = 0] = sizes.map((size) => arena.words("work", size));
  const memory = allocate(arena);
  const kernels = instantiate(module, memory);
  const numbers = new Float32Array(memory.buffer, a);
  numbers.forEach((_, i) => (numbers[i] = Math.sin(i)));
  kernels.join(1, control, own);
  kernels.setA(a, depth, 1);
  kernels.setB(b, columns, 1, false);
  kernels.setC(c, columns, c, 0.3);
  kernels.product(rows, columns, depth, 12, 32);
  kernels.barrier();
  return Buffer.from(memory.buffer, c, rows * columns * 4).toString("hex");
}

/** Whether products of both quantized types have the same bits with relaxed dot products and without. */
function areDotsExact(module: KernelModule): boolean {
  return [true, false].every(
    (isQ4) => testQuantized(module, isQ4) === testQuantized({ ...module, dots: true }, isQ4),
  );
}

/** Returns the bits of a quantized product of numbers of all sizes, over four rows and a row alone. */
function testQuantized(module: KernelModule, isQ4: boolean): string {
  const [rows, out, width] = [5, 11, 256];
  const arena = createArena();
  const [control, own] = [arena.bytes("work", CONTROL_BYTES), arena.bytes("work", OWN_BYTES)];
  const x = arena.words("work", rows * width);
  const y = arena.words("work", rows * out);
  const weights = arena.words("work", out * width);
  const w = arena.bytes("work", quantizedBytes("q8_0", out, width));
  const input = arena.bytes("work", quantizedInputBytes(rows, width));
  const memory = allocate(arena);
  const kernels = instantiate(module, memory);
  const numbers = new Float32Array(memory.buffer, x, rows * width);
  numbers.forEach((_, i) => (numbers[i] = Math.tan(i)));
  const stored = new Float32Array(memory.buffer, weights, out * width);
  stored.forEach((_, i) => (stored[i] = Math.sin(i * i)));
  kernels.join(1, control, own);
  kernels.quantizeWeights(isQ4, 0, out, width, weights, false, w);
  kernels.quantizeInput(isQ4, rows, width, x, width, input);
  kernels.quantizedProduct(isQ4, rows, out, width, w, input, y, out, 0, 4);
  return Buffer.from(memory.buffer, y, rows * out * 4).toString("hex");
}
