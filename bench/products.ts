import { allocate, createArena } from "../engines/embedded/kernels/arena.ts";
import { createMatmuls } from "../engines/embedded/kernels/matmuls.ts";
import { planTeam } from "../engines/embedded/kernels/team.ts";
import type { Dimensions } from "../engines/families/dimensions.ts";
import { weightShapes } from "../engines/families/tensorShapes.ts";
import { compileKernels, instantiate } from "./engine.ts";

/** Size of the operands' memory: several times a step's largest array. */
const DATA_WORDS = 2 ** 24;

/** The kernels with their own memory, for this thread alone. */
function singleThreadKernels() {
  const arena = createArena();
  const team = planTeam(arena, 1);
  const data = arena.reserveWords("activations", DATA_WORDS);
  const memory = allocate(arena);
  const kernels = instantiate(compileKernels(), memory);
  kernels.join(1, team.control, team.ownScratch[0]!);
  new Float32Array(memory.buffer, data, DATA_WORDS).fill(0.5);
  const matmuls = createMatmuls({ kernels, memory, threadIndex: 0, count: () => 1 });
  return { kernels, memory, data, matmuls };
}

/**
 * Every matrix multiplication that a step needs: for each weight matrix x·Wᵀ, and for its gradients g·W and
 * gᵀ·x; for each layer's attention two, and four for their gradients, of which a causal model needs half.
 */
export function stepMatmuls(shape: Dimensions, rows: number, length: number): () => void {
  const { kernels, data, matmuls } = singleThreadKernels();
  const { layers, heads, width } = shape;
  const n = rows * length;
  const size = width / heads;
  const work: (() => void)[] = [];
  const add = (n: number, out: number, inner: number, times: number) => {
    const w = { at: data, out, in: inner };
    const x = { at: data + out * inner * 4, row: inner };
    const y = { at: x.at + n * inner * 4, row: out };
    for (let i = 0; i < times; i++) {
      work.push(
        () => matmuls.linear(n, x, w, y),
        () => matmuls.linearBack(n, y, w, x),
        () => matmuls.weightBack(n, y, x, w),
      );
    }
  };
  for (const [out = 0, inner] of Object.values(weightShapes(shape))) {
    if (inner !== undefined) add(n, out, inner, 1);
  }
  // q·kᵀ and p·v with their gradients, at half the length.
  add(length, length / 2, size, 2 * layers * rows * heads);
  return () => {
    for (const product of work) {
      product();
      kernels.barrier();
    }
  };
}
