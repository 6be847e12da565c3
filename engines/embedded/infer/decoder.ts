import { jit, numpy as np, tree } from "@jax-js/jax";
import type { ModelShape } from "../../../protocol/trainConfig.ts";
import { cachedAttention, rotations } from "../model/attention.ts";
import { type Params, forward } from "../model/model.ts";
import { SPECIALS, VOCABULARY } from "../../llama/tokenizer.ts";

/** Reads tokens one after another, remembering keys and values. */
export interface Reading {
  /**
   * Reads more tokens; answers the logits [vocabulary] after the last of them.
   * Together they must fit the context.
   */
  read: (tokens: ArrayLike<number>) => Float32Array;
  dispose: () => void;
}

/** Starts readings of models of one shape; its compiled steps are shared by all of them. */
export type Decoder = (params: Params) => Reading;

/** Tokens of a prompt that one step reads; answers are read token by token. */
const PROMPT_CHUNK = 32;

export function createDecoder(shape: ModelShape): Decoder {
  const one = createStep(shape, 1);
  const many = createStep(shape, PROMPT_CHUNK);

  return function start(params) {
    let cache = emptyCache(shape);
    let position = 0;

    function read(tokens: ArrayLike<number>) {
      let last: Float32Array = new Float32Array(VOCABULARY);
      for (let from = 0; from < tokens.length;) {
        const left = tokens.length - from;
        const step = left === 1 ? one : many;
        const count = Math.min(left, step.count);
        // What pads the chunk is overwritten before anything can attend to it.
        const chunk = new Int32Array(step.count).fill(SPECIALS.pad);
        for (let i = 0; i < count; i++) chunk[i] = tokens[from + i] ?? SPECIALS.pad;
        const result = step.run(params, cache, chunk, position);
        cache = result.cache;
        last = result.logits.subarray((count - 1) * VOCABULARY, count * VOCABULARY);
        from += count;
        position += count;
      }
      return last;
    }

    return { read, dispose: () => tree.dispose(cache) };
  };
}

/** One compiled step of `count` tokens. It consumes the cache, not the parameters. */
function createStep(shape: ModelShape, count: number) {
  const size = shape.width / shape.heads;
  const compiled = jit(
    (
      params: Params,
      cache: Params,
      tokens: np.Array,
      positions: np.Array,
      cos: np.Array,
      sin: np.Array,
    ) => {
      const next: Params = {};
      const place = { positions, cos, sin };
      const attend = cachedAttention(shape, count, place, cache, next);
      const logits = forward(params, tokens, shape, attend);
      tree.dispose([params, place]);
      return { logits, cache: next };
    },
  );

  function run(params: Params, cache: Params, tokens: Int32Array<ArrayBuffer>, start: number) {
    const { cos, sin } = rotations(shape, start, count);
    const result = compiled(
      tree.ref(params),
      cache,
      np.array(tokens),
      np.array(Int32Array.from({ length: count }, (_, i) => start + i)),
      np.array(cos, { shape: [count, size] }),
      np.array(sin, { shape: [count, size] }),
    );
    return { cache: result.cache, logits: result.logits.dataSync() as Float32Array };
  }

  return { count, run };
}

function emptyCache({ layers, heads, width, context }: ModelShape): Params {
  const cache: Params = {};
  for (let layer = 0; layer < layers; layer++) {
    cache[`${layer}.k`] = np.zeros([heads, context, width / heads]);
    cache[`${layer}.v`] = np.zeros([heads, context, width / heads]);
  }
  return cache;
}
