import { nn, numpy as np } from "@jax-js/jax";
import type { ModelShape } from "../../../protocol/trainConfig.ts";
import { ropeTheta } from "../../llama/constants.ts";
import type { Attention, Params } from "./model.ts";

/** Score of a hidden position: its exponential is 0, and it stays finite where all are hidden. */
const HIDDEN = -1e30;

/** Attention of whole rows, each position to itself and those before it; for n = rows · length. */
export function causalAttention(shape: ModelShape, rows: number, length: number): Attention {
  const { heads, width } = shape;
  const size = width / heads;
  const { cos, sin } = rotations(shape, 0, length);
  const split = (x: np.Array) => x.reshape([rows, length, heads, size]).transpose([0, 2, 1, 3]);
  const turn = (x: np.Array) =>
    rotate(
      split(x),
      np.array(cos, { shape: [length, size] }),
      np.array(sin, { shape: [length, size] }),
    );
  return (q, k, v) => {
    const at = np.arange(length).astype(np.int32);
    const visible = at.ref.reshape([length, 1]).greaterEqual(at);
    const mixed = weigh(turn(q), turn(k), split(v), visible);
    return mixed.transpose([0, 2, 1, 3]).reshape([rows * length, width]);
  };
}

/**
 * What a cached step needs to know of where it is. `positions` [count], int32, are the places of
 * its tokens; `cos` and `sin` [count, head size] their rotations.
 */
export type Place = { positions: np.Array; cos: np.Array; sin: np.Array };

/**
 * Attention of `count` new tokens of one row to all before them, whose keys and values, each
 * [heads, context, head size], are in `cache`. Puts the cache that follows in `next`. Consumes the
 * cache, not the place.
 */
export function cachedAttention(
  { heads, width, context }: ModelShape,
  count: number,
  place: Place,
  cache: Params,
  next: Params,
): Attention {
  const size = width / heads;
  const split = (x: np.Array) => x.reshape([count, heads, size]).transpose([1, 0, 2]);
  const slots = () => np.arange(context).astype(np.int32);
  // [context, count], the same for each head, as matmul spreads no matrix over a batch: which slot takes which of the new tokens.
  const taking = slots().reshape([context, 1]).equal(place.positions.ref).astype(np.float32);
  const written = slots()
    .reshape([context, 1])
    .greaterEqual(place.positions.ref.slice([0, 1]))
    .mul(
      slots()
        .reshape([context, 1])
        .lessEqual(place.positions.ref.slice([count - 1, count])),
    );
  const visible = place.positions.ref.reshape([count, 1]).greaterEqual(slots());

  function remember(name: string, x: np.Array): np.Array {
    const old = cache[name];
    if (!old) throw new Error(`the cache has no ${name}`);
    const placed = np.matmul(np.broadcastTo(taking.ref, [heads, context, count]), x);
    const all = np.where(written.ref, placed, old);
    next[name] = all.ref;
    return all;
  }

  return (q, k, v, layer) => {
    const keys = remember(`${layer}.k`, rotate(split(k), place.cos.ref, place.sin.ref));
    const values = remember(`${layer}.v`, split(v));
    const queries = rotate(split(q), place.cos.ref, place.sin.ref);
    const mixed = weigh(queries, keys, values, visible.ref);
    return mixed.transpose([1, 0, 2]).reshape([count, width]);
  };
}

/** Softmax of the scaled products, over the visible; the values' mean by it. */
function weigh(q: np.Array, k: np.Array, v: np.Array, visible: np.Array): np.Array {
  const size = q.shape.at(-1) ?? 1;
  const products = np.matmul(q, np.swapaxes(k, -1, -2)).mul(size ** -0.5);
  return np.matmul(nn.softmax(np.where(visible, products, HIDDEN), -1), v);
}

/**
 * Cosines and sines of rotary embeddings from position `start`, each [count, head size], in
 * Hugging Face's convention: dimension i turns together with i + size/2.
 */
export function rotations({ heads, width, context }: ModelShape, start: number, count: number) {
  const size = width / heads;
  const theta = ropeTheta(context);
  const cos = new Float32Array(count * size);
  const sin = new Float32Array(count * size);
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < size; i++) {
      const angle = (start + row) * theta ** (-(2 * (i % (size / 2))) / size);
      cos[row * size + i] = Math.cos(angle);
      sin[row * size + i] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

/** x · cos + (−x₂, x₁) · sin over the last axis. */
function rotate(x: np.Array, cos: np.Array, sin: np.Array): np.Array {
  const half = (x.shape.at(-1) ?? 0) / 2;
  const rest = x.shape
    .slice(1)
    .map((): [] => [])
    .slice(1);
  const low = x.ref.slice([], ...rest, [0, half]);
  const high = x.ref.slice([], ...rest, [half, 2 * half]);
  return x.mul(cos).add(np.concatenate([np.negative(high), low], -1).mul(sin));
}
