import { allocate, createArena } from "../engines/embedded/kernels/arena.ts";
import { createMatmuls } from "../engines/embedded/kernels/matmuls.ts";
import { planTeam } from "../engines/embedded/kernels/team.ts";
import type { Dimensions } from "../engines/families/dimensions.ts";
import { weightShapes } from "../engines/families/tensorShapes.ts";
import { compileKernels, instantiate } from "./engine.ts";

/** Numbers that products read and write: a step's largest array, several times over. */
const ROOM = 2 ** 24;

/** The kernels on a memory of their own, for this thread alone. */
export function aloneKernels() {
  const arena = createArena();
  const team = planTeam(arena, 1);
  const room = arena.words("activations", ROOM);
  const memory = allocate(arena);
  const kernels = instantiate(compileKernels(), memory);
  kernels.join(1, team.control, team.ownScratch[0]!);
  new Float32Array(memory.buffer, room, ROOM).fill(0.5);
  const products = createMatmuls({ kernels, memory, threadIndex: 0, count: () => 1 });
  return { kernels, memory, room, products };
}

/**
 * Every product of two matrices that a step cannot do without: of each matrix x·Wᵀ, and for its
 * gradient g·W and gᵀ·x; of each layer's attention the two, and the four of their gradients, of
 * which a causal model needs half.
 */
export function stepProducts(shape: Dimensions, rows: number, length: number): () => void {
  const { kernels, room, products } = aloneKernels();
  const { layers, heads, width } = shape;
  const n = rows * length;
  const size = width / heads;
  const work: (() => void)[] = [];
  const add = (n: number, out: number, inner: number, times: number) => {
    const w = { at: room, out, in: inner };
    const x = { at: room + out * inner * 4, row: inner };
    const y = { at: x.at + n * inner * 4, row: out };
    for (let i = 0; i < times; i++) {
      work.push(
        () => products.linear(n, x, w, y),
        () => products.linearBack(n, y, w, x),
        () => products.weightBack(n, y, x, w),
      );
    }
  };
  for (const [out = 0, inner] of Object.values(weightShapes(shape))) {
    if (inner !== undefined) add(n, out, inner, 1);
  }
  // Two times three of half the length: q·kᵀ and p·v with their gradients.
  add(length, length / 2, size, 2 * layers * rows * heads);
  return () => {
    for (const product of work) {
      product();
      kernels.barrier();
    }
  };
}
