import {
  type Dimensions,
  type LlamaShape,
  dimensionsOf,
  qkvWidth,
} from "../../llama/dimensions.ts";
import type { ReadWeights } from "../../llama/storedWeights.ts";
import { type Arena, allocate, planArena } from "../kernels/arena.ts";
import type { KernelModule } from "../kernels/module.ts";
import { type Matrix, createProducts } from "../kernels/operations.ts";
import { type Thread, lead, planTeam } from "../kernels/team.ts";
import { rowsAt } from "../model/model.ts";
import { rotations } from "../model/rotations.ts";
import { planWeights, writeTensors } from "../model/weightPlan.ts";

/** Reads tokens one after another, remembering keys and values. */
export interface Reading {
  /**
   * Reads more tokens; answers the logits [vocabulary] after the last of them.
   * Together they must fit the context.
   */
  read: (tokens: ArrayLike<number>) => Float32Array;
}

/** Starts a reading, which ends the one before: they share their memory. */
export type Decoder = () => Reading;

export interface DecoderWeights {
  /** Names of the tensors stored as bfloat16; they stay so. */
  bfloat16?: ReadonlySet<string>;
  /** Called once it is known that they fit. */
  read: ReadWeights;
}

/** Tokens of a prompt that one step reads; answers are read token by token. */
const PROMPT_CHUNK = 64;

const ADVICE = "Use a smaller model, or one with a shorter context";

/**
 * @throws KitError `OUT_OF_MEMORY` for what does not fit
 */
export function createDecoder(
  module: KernelModule,
  shape: LlamaShape,
  { bfloat16, read }: DecoderWeights,
): Decoder {
  const place = (arena: Arena, layers: number) =>
    placeDecoder(arena, dimensionsOf({ ...shape, layers }), bfloat16);
  const { arena, team, ...plan } = planArena(shape.layers, place, ADVICE);
  const d = plan.dimensions;
  const memory = allocate(arena);
  writeTensors(memory, plan.weights.tensors, read);
  const angles = rotations(d, d.context);
  new Float32Array(memory.buffer, plan.cosines, angles.cosines.length).set(angles.cosines);
  new Float32Array(memory.buffer, plan.sines, angles.sines.length).set(angles.sines);

  const chunk = new Int32Array(memory.buffer, plan.tokens, PROMPT_CHUNK);
  const logits = new Float32Array(memory.buffer, plan.logits, d.vocabulary);
  const at = { position: 0, count: 0 };
  const run = lead(team, module, memory, (thread) => [createStep(thread, plan, at)]);

  return function start() {
    at.position = 0;
    function read(tokens: ArrayLike<number>) {
      for (let from = 0; from < tokens.length; from += at.count) {
        at.count = Math.min(tokens.length - from, PROMPT_CHUNK);
        for (let i = 0; i < at.count; i++) chunk[i] = tokens[from + i] ?? 0;
        run(0);
        at.position += at.count;
      }
      return logits.slice();
    }
    return { read };
  };
}

type DecoderPlan = Omit<ReturnType<typeof placeDecoder>, "team">;

/** Exported for the tests, which write guard words between its arrays. */
export function placeDecoder(arena: Arena, d: Dimensions, bfloat16?: ReadonlySet<string>) {
  const words = (count: number) => arena.words("activations", count);
  const kv = d.kvHeads * d.size;
  return {
    team: planTeam(arena, 1),
    dimensions: d,
    weights: planWeights(arena, "weights", d, bfloat16),
    /** Keys and values of each block, [context, kvHeads · size]. */
    caches: Array.from({ length: d.layers }, () => ({
      keys: words(d.context * kv),
      values: words(d.context * kv),
    })),
    cosines: words((d.context * d.size) / 2),
    sines: words((d.context * d.size) / 2),
    tokens: words(PROMPT_CHUNK),
    x: words(PROMPT_CHUNK * d.width),
    h: words(PROMPT_CHUNK * d.width),
    inverse: words(PROMPT_CHUNK * d.heads),
    qkv: words(PROMPT_CHUNK * qkvWidth(d)),
    scores: words(PROMPT_CHUNK * d.heads * d.context),
    mixed: words(PROMPT_CHUNK * d.heads * d.size),
    gateUp: words(PROMPT_CHUNK * 2 * d.hidden),
    inner: words(PROMPT_CHUNK * d.hidden),
    logits: words(d.vocabulary),
  };
}

/** One step of `count` tokens from `position` on; the logits after the last. */
function createStep(
  thread: Thread,
  plan: DecoderPlan,
  at: { position: number; count: number },
): () => void {
  const { kernels } = thread;
  const { meet } = kernels;
  const { dimensions: d, weights } = plan;
  const { linear: product } = createProducts(thread);
  const qkvRow = qkvWidth(d);
  const kvRow = d.kvHeads * d.size;
  const keysFrom = plan.qkv + d.heads * d.size * 4;

  /** y = added + x·Wᵀ for every new token; x is read after a meeting. */
  function linear(w: Matrix, bias: number | undefined, x: number, y: number, added = 0) {
    if (at.count > 1) product(at.count, rowsAt(x, w.in), w, rowsAt(y, w.out), added);
    else {
      meet();
      kernels.vectorProduct(w.out, w.in, w.at, w.half ? 1 : 0, x, added, y);
    }
    if (bias === undefined) return;
    meet();
    kernels.addBias(at.count, w.out, bias, y, w.out);
  }

  /** Normalizes the queries and keys in place. */
  function normHeads({ q, k }: { q: number; k: number }) {
    const { heads, kvHeads, size, epsilon } = d;
    const norm = (w: number, count: number, x: number) =>
      kernels.headNorm(at.count, count, size, x, qkvRow, w, x, qkvRow, plan.inverse, epsilon);
    norm(q, heads, plan.qkv);
    norm(k, kvHeads, keysFrom);
    meet();
  }

  const blocks = weights.blocks.map(({ inputNorm, postNorm, maps, biases, headNorms }, layer) => {
    const cache = plan.caches[layer];
    if (!cache) throw new Error(`the model has no block ${layer}`);
    const { keys, values } = cache;
    return () => {
      const { position, count } = at;
      kernels.norm(count, d.width, plan.x, inputNorm, plan.h, plan.inverse, d.epsilon);
      linear(maps.qkv, biases.qkv, plan.h, plan.qkv);
      meet();
      if (headNorms) normHeads(headNorms);
      kernels.rotate(
        ...([count, count, position, d.heads + d.kvHeads, d.size, plan.qkv, qkvRow] as const),
        ...([plan.cosines, plan.sines, 1] as const),
      );
      meet();
      const offset = position * kvRow * 4;
      kernels.copyRows(count, kvRow, keysFrom, qkvRow, keys + offset, kvRow);
      kernels.copyRows(count, kvRow, keysFrom + kvRow * 4, qkvRow, values + offset, kvRow);
      meet();
      kernels.attendCached(
        ...([count, position, d.heads, d.kvHeads, d.size, qkvRow, d.context] as const),
        ...([plan.qkv, keys, values, plan.scores, plan.mixed] as const),
      );
      linear(maps.o, biases.o, plan.mixed, plan.x, plan.x);
      meet();
      kernels.norm(count, d.width, plan.x, postNorm, plan.h, plan.inverse, d.epsilon);
      linear(maps.gateUp, biases.gateUp, plan.h, plan.gateUp);
      meet();
      kernels.swiglu(count, d.hidden, plan.gateUp, plan.inner);
      linear(maps.down, biases.down, plan.inner, plan.x, plan.x);
      meet();
    };
  });

  return function step() {
    const { embedding, head, finalNorm } = weights;
    kernels.embed(at.count, d.width, plan.tokens, embedding.at, embedding.half ? 1 : 0, plan.x);
    meet();
    for (const block of blocks) block();
    const last = plan.x + (at.count - 1) * d.width * 4;
    kernels.norm(1, d.width, last, finalNorm, plan.h, plan.inverse, d.epsilon);
    meet();
    const { at: w, half } = head;
    kernels.vectorProduct(d.vocabulary, d.width, w, half ? 1 : 0, plan.h, 0, plan.logits);
    meet();
  };
}
