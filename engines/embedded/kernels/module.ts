import { readFileSync } from "node:fs";
import { ownFile } from "../../../disk/ownFile.ts";
import { quantize } from "../../modelFiles/blocks/blockType.ts";
import { type BlockTypeName, BLOCK_TYPES, isBlockType } from "../../modelFiles/numberTypes.ts";
import { allocate, createArena } from "./arena.ts";
import { hasDotProducts } from "./dots.ts";
import { type Address, type Kernels, CONTROL_BYTES, SCRATCH_BYTES, WIDE_NAMES } from "./kernels.ts";
import { quantizedBytes, quantizedInputBytes } from "./quantized.ts";
import { type Simd, availableSimd } from "./simd.ts";
import { compileWide, instantiateWide } from "./wide.ts";

/** The compiled kernels, shared by a team's threads. */
export interface KernelModule {
  simd: Simd;
  module: WebAssembly.Module;
  /** The product's tile on 256-bit vectors, bit-identical but faster. */
  wide?: WebAssembly.Module;
  /** The sums of quantized products on 256-bit vectors, likewise. */
  wideSums?: WebAssembly.Module;
  /** Whether to use relaxed dot products for quantized weights, likewise. */
  dots?: boolean;
}

export function compileKernels(simd: Simd = availableSimd()): KernelModule {
  const file =
    simd === "plain"
      ? ownFile(new URL("./plain.wasm", import.meta.url))
      : ownFile(new URL("./relaxed.wasm", import.meta.url));
  const plain = { simd, module: new WebAssembly.Module(readFileSync(file)) };
  if (simd === "plain") return plain;
  const wide = compileWide();
  // Joining vectors is experimental in V8, so each variant is used only if it gives the same bits.
  return {
    ...plain,
    ...(wide && testProduct(plain) === testProduct({ ...plain, wide }) && { wide }),
    ...(wide && hasSameSums(plain, { ...plain, wideSums: wide }) && { wideSums: wide }),
    dots: hasDotProducts() && hasSameSums(plain, { ...plain, dots: true }),
  };
}

export function instantiate(
  { module, wide, wideSums, dots }: KernelModule,
  memory: WebAssembly.Memory,
): Kernels {
  const words = new Int32Array(memory.buffer);
  const abort = () => {
    throw new Error("a kernel aborted");
  };
  const anyWide = wide ?? wideSums;
  const env = {
    memory,
    sleep: (word: Address, value: number) => Atomics.wait(words, word >>> 2, value),
    wake: (word: Address) => Atomics.notify(words, word >>> 2),
    abort,
    ...Object.fromEntries(WIDE_NAMES.map((name) => [name, abort])),
    ...(anyWide && instantiateWide(anyWide, memory)),
  };
  const kernels = new WebAssembly.Instance(module, { env }).exports as unknown as Kernels;
  if (wide) kernels.widen();
  if (wideSums) kernels.widenSums();
  // For q8_0, wide sums are faster than its two dot products.
  if (dots) kernels.useDots(!wideSums);
  return kernels;
}

/** The bits of a test product, over whole tiles and a tile of one row. */
function testProduct(module: KernelModule): string {
  const [rows, columns, depth] = [7, 24, 65];
  const arena = createArena();
  const [control, scratch] = [
    arena.reserveBytes("work", CONTROL_BYTES),
    arena.reserveBytes("work", SCRATCH_BYTES),
  ];
  const sizes = [rows * depth, depth * columns, rows * columns];
  const [a = 0, b = 0, c = 0] = sizes.map((size) => arena.reserveWords("work", size));
  const memory = allocate(arena);
  const kernels = instantiate(module, memory);
  const numbers = new Float32Array(memory.buffer, a);
  numbers.forEach((_, i) => (numbers[i] = Math.sin(i)));
  kernels.join(1, control, scratch);
  kernels.setA(a, depth, 1);
  kernels.setB(b, columns, 1, false);
  kernels.setC(c, columns, c, 0.3);
  kernels.product(rows, columns, depth, 12, 32);
  kernels.barrier();
  return Buffer.from(memory.buffer, c, rows * columns * 4).toString("hex");
}

/** Whether two modules give the same bits for all quantized types. */
function hasSameSums(one: KernelModule, other: KernelModule): boolean {
  return Object.keys(BLOCK_TYPES)
    .filter(isBlockType)
    .every((type) => testQuantized(one, type) === testQuantized(other, type));
}

/** The bits of a quantized test product, over four rows and one, four groups and one. */
function testQuantized(module: KernelModule, type: BlockTypeName): string {
  const [rows, out, width] = [5, 37, 256];
  const arena = createArena();
  const [control, scratch] = [
    arena.reserveBytes("work", CONTROL_BYTES),
    arena.reserveBytes("work", SCRATCH_BYTES),
  ];
  const x = arena.reserveWords("work", rows * width);
  const y = arena.reserveWords("work", rows * out);
  const { id } = BLOCK_TYPES[type];
  const stored = Float32Array.from({ length: out * width }, (_, i) => Math.sin(i * i));
  const blocks = quantize(BLOCK_TYPES[type], stored);
  const from = arena.reserveBytes("work", blocks.length);
  const w = arena.reserveBytes("work", quantizedBytes(type, out, width));
  const input = arena.reserveBytes("work", quantizedInputBytes(rows, width));
  const memory = allocate(arena);
  const kernels = instantiate(module, memory);
  const numbers = new Float32Array(memory.buffer, x, rows * width);
  numbers.forEach((_, i) => (numbers[i] = Math.tan(i)));
  new Uint8Array(memory.buffer, from, blocks.length).set(blocks);
  kernels.join(1, control, scratch);
  kernels.packBlocks(id, 0, out, width, from, w);
  kernels.quantizeInput(id, rows, width, x, width, input);
  kernels.quantizedProduct(id, rows, out, width, w, input, y, out, 0, 4);
  return Buffer.from(memory.buffer, y, rows * out * 4).toString("hex");
}
