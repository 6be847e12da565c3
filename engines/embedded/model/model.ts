import type { Projection } from "../../../protocol/modelNames.ts";
import { nn, numpy as np } from "@jax-js/jax";
import type { ModelShape } from "../../../protocol/trainConfig.ts";
import { NORM_EPSILON } from "../../llama/constants.ts";
import { VOCABULARY } from "../../llama/tokenizer.ts";
import {
  type Weights,
  EMBEDDING,
  FINAL_NORM,
  normName,
  projectionName,
} from "../../llama/weights.ts";

/** Arrays by Llama's names. */
export type Params = Record<string, np.Array>;

/**
 * Mixes positions. Takes a layer's queries, keys and values, each [n, width] and not yet rotated,
 * and answers [n, width]. Consumes them.
 */
export type Attention = (q: np.Array, k: np.Array, v: np.Array, layer: number) => np.Array;

/** A linear map [n, in] → [n, out] by its name without `.weight`. Consumes `x`. */
export type Linear = (x: np.Array, name: string) => np.Array;

export function toParams(weights: Weights): Params {
  return Object.fromEntries(
    Object.entries(weights).map(([name, { shape, data }]) => [name, np.array(data, { shape })]),
  );
}

/** A parameter, with a reference of its own: the caller's stays alive. */
export function take(params: Params, name: string): np.Array {
  const array = params[name];
  if (!array) throw new Error(`the model has no tensor ${name}`);
  return array.ref;
}

function plainLinear(params: Params): Linear {
  return (x, name) => np.dot(x, take(params, `${name}.weight`).transpose());
}

/**
 * The logits [n, vocabulary] of `tokens` [n], int32: the one definition of the model, for training
 * and for generating. Consumes `tokens`, not the parameters.
 */
export function forward(
  params: Params,
  tokens: np.Array,
  shape: ModelShape,
  attend: Attention,
  linear: Linear = plainLinear(params),
): np.Array {
  let x = barrier(np.dot(oneHot(tokens), take(params, EMBEDDING)));
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = (projection: Projection) => projectionName(layer, projection);
    const h = normalize(x.ref, take(params, normName(layer, "input")));
    const q = linear(h.ref, name("q_proj"));
    const k = linear(h.ref, name("k_proj"));
    const v = linear(h, name("v_proj"));
    x = x.add(linear(attend(q, k, v, layer), name("o_proj")));
    const g = normalize(x.ref, take(params, normName(layer, "post_attention")));
    const gate = nn.silu(linear(g.ref, name("gate_proj")));
    x = x.add(linear(gate.mul(linear(g, name("up_proj"))), name("down_proj")));
  }
  x = normalize(x, take(params, FINAL_NORM));
  return np.dot(x, take(params, EMBEDDING).transpose());
}

/**
 * Mean negative log likelihood of the learned targets, in nats; a scalar. Consumes its arguments.
 * @param logits [n, vocabulary]
 * @param targets [n], int32
 * @param learned [n], 1 where a target counts and 0 elsewhere
 */
export function lossOf(logits: np.Array, targets: np.Array, learned: np.Array): np.Array {
  const picked = logits.ref.mul(oneHot(targets)).sum(-1);
  const nll = nn.logsumexp(logits, -1).sub(picked);
  return nll.mul(learned.ref).sum().div(learned.sum());
}

/** [n, vocabulary], float32. By equality, because the gradient of a gather is slow. */
function oneHot(tokens: np.Array): np.Array {
  const ids = np.arange(VOCABULARY).astype(np.int32);
  return tokens.reshape([-1, 1]).equal(ids).astype(np.float32);
}

/**
 * Makes jit store `x` [n, width] and its gradient. Fused into the inner loop of the one matmul
 * that uses it, a gradient would be computed again for every output.
 */
export function barrier(x: np.Array): np.Array {
  const rows = x.shape[0] ?? 0;
  return np.pad(x, { 0: [0, 1] }).slice([0, rows], []);
}

/** RMSNorm over the last axis. */
function normalize(x: np.Array, weight: np.Array): np.Array {
  const square = x.ref.mul(x.ref).mean(-1, { keepdims: true });
  return x.div(np.sqrt(square.add(NORM_EPSILON))).mul(weight);
}
