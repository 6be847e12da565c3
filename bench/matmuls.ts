import { blockUntilReady, jit, numpy as np } from "@jax-js/jax";
import { createRandom } from "../engines/llama/random.ts";
import { weightShapes } from "../engines/llama/weights.ts";
import type { ModelShape } from "../protocol/trainConfig.ts";

const SEED = 1;

/**
 * Every product of two matrices that a step cannot do without: of each matrix x·Wᵀ, and for its
 * gradient g·W and gᵀ·x; of each layer's attention the two, and the four of their gradients. The
 * engine also embeds by a product, which a lookup would spare it: that one is not among them.
 */
export function stepProducts(
  shape: ModelShape,
  rows: number,
  length: number,
): (() => Promise<void>)[] {
  const { layers, heads, width } = shape;
  const tokens = rows * length;
  const products: (() => Promise<void>)[] = [];
  for (const [out = 0, inner] of Object.values(weightShapes(shape))) {
    if (inner === undefined) continue;
    const x = randomArray(tokens, inner);
    const w = randomArray(out, inner);
    const g = randomArray(tokens, out);
    products.push(
      product((x, w) => np.dot(x, w.transpose()), x, w),
      product((g, w) => np.dot(g, w), g, w),
      product((g, x) => np.dot(g.transpose(), x), g, x),
    );
  }
  const q = randomArray(rows, heads, length, width / heads);
  const p = randomArray(rows, heads, length, length);
  const across = product((a, b) => np.matmul(a, np.swapaxes(b, -1, -2)), q, q);
  const along = product((a, b) => np.matmul(a, b), p, q);
  const back = product((a, b) => np.matmul(np.swapaxes(a, -1, -2), b), p, q);
  for (let layer = 0; layer < layers; layer++) {
    // q·kᵀ and p·v; then dp = g·vᵀ, dq = ds·k, dv = pᵀ·g and dk = dsᵀ·q.
    products.push(across, along, across, along, back, back);
  }
  return products;
}

function product(multiply: (a: np.Array, b: np.Array) => np.Array, a: np.Array, b: np.Array) {
  const compiled = jit(multiply);
  return async () => {
    const result = compiled(a.ref, b.ref);
    await blockUntilReady(result);
    result.dispose();
  };
}

function randomArray(...sizes: number[]): np.Array {
  const random = createRandom(SEED, sizes.join());
  const count = sizes.reduce((product, size) => product * size);
  const data = Float32Array.from({ length: count }, () => random.uniform() - 0.5);
  return np.array(data, { shape: sizes });
}
