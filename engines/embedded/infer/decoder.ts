import { bitmapLength } from "../../answers/allowedBits.ts";
import type { NextToken } from "../../answers/reader.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { type TensorSource, bfloat16Of } from "../../modelFiles/tensors.ts";
import { allocate, growTo } from "../kernels/arena.ts";
import { PANEL } from "../kernels/matmuls.ts";
import { type KernelModule, instantiate } from "../kernels/module.ts";
import { createQuantizedWriter } from "../kernels/quantized.ts";
import { lead as leadTeam } from "../kernels/team.ts";
import { batchArrays } from "../model/batch.ts";
import { writeTensors } from "../model/tensors.ts";
import { RUN_WORDS, pagesOf } from "../ops/operation.ts";
import { type Adapter, createAdapters } from "./adapters.ts";
import {
  type DecoderSizes,
  MAX_SEQUENCES,
  MAX_TOKENS,
  arraysPerPage,
  pageBytes,
  planDecoder,
} from "./decoderPlan.ts";
import { decoderProgram } from "./decoderProgram.ts";
import { type SequencePages, createPagePool } from "./pagePool.ts";
import { probabilitiesOf } from "./probabilities.ts";

/** Generates several sequences at once, each with the same bits as alone. */
export interface Decoder {
  /**
   * Begins a sequence.
   * @param tokens its prompt; a prefix shared with another sequence is reused
   * @param adapter default: none
   */
  begin: (tokens: readonly number[], adapter?: Adapter) => Sequence;
  /**
   * Processes up to `MAX_TOKENS` tokens of up to `MAX_SEQUENCES` sequences, reading every weight once. Each sequence
   * must have grown by its tokens before.
   * @returns the wanted predictions of each input
   */
  step: (inputs: readonly StepInput[]) => NextToken[][];
  adapters: ReturnType<typeof createAdapters>;
}

/** A sequence of tokens and its KV cache. */
export interface Sequence {
  /** Tokens so far. */
  length: () => number;
  /** Allocates pages for more tokens. @returns false if there are too few */
  grow: (tokens: number) => boolean;
  /** Releases its pages. Idempotent. */
  close: () => void;
}

export interface StepInput {
  sequence: Sequence;
  tokens: readonly number[];
  /** Trailing tokens whose logits are needed; up to `MAX_SEQUENCES` in a step. */
  wanted: number;
  /** Bit mask of allowed tokens, as `allowedBits` makes it. Default: the decoder's. */
  allowed?: Int32Array | undefined;
}

/** Initial data of a helper thread. */
export interface DecoderWorkerInit {
  memory: WebAssembly.Memory;
  module: KernelModule;
  sizes: DecoderSizes;
}

export interface DecoderOptions extends Omit<DecoderSizes, "shape" | "bfloat16" | "stored"> {
  /** Makes the decoder's bit mask of allowed tokens, once the model is known to fit in memory. Default: all tokens. */
  allowed?: () => Int32Array;
  /** Called once with the helpers' initial data; they may join at any time. */
  initWorkers?: (init: DecoderWorkerInit) => void;
}

/** Unused pages kept for prefix reuse, in bytes. */
const IDLE_BYTES = 2 ** 27;

/**
 * @param weights are read once they are known to fit; bfloat16 stays bfloat16
 * @throws KitError `OUT_OF_MEMORY`
 */
export function createDecoder(
  module: KernelModule,
  shape: Dimensions,
  weights: TensorSource,
  { allowed, initWorkers, ...options }: DecoderOptions = {},
): Decoder {
  const types = [...weights.tensors].map(([name, { type }]) => [name, type] as const);
  const stored = Object.fromEntries(types);
  const sizes = { shape, bfloat16: bfloat16Of(weights), stored, ...options };
  const { arena, team, model, masks, argmax, sampling, ...planned } = planDecoder(sizes);
  const { staging, stagingBytes, adapterRegion } = planned;
  const memory = allocate(arena);
  const { buffer } = memory;
  const kernels = instantiate(module, memory);
  const staged = { at: staging, bytes: stagingBytes };
  writeTensors(memory, model.tensors.frozen, weights, (matrix, row) =>
    createQuantizedWriter(kernels, memory, matrix, staged, row),
  );
  for (const { at, out, in: width, isBf16 = false } of model.tensors.matrices) {
    kernels.makePanels(Math.ceil(out / PANEL) * PANEL, width, at, isBf16, staging);
  }
  for (const { at, values } of model.constants) {
    const numbers = values();
    new Float32Array(buffer, at, numbers.length).set(numbers);
  }
  const words = bitmapLength(model.vocabulary);
  const maskAt = (slot: number) => masks + slot * words * 4;
  new Int32Array(buffer, masks, words).set(allowed?.() ?? new Int32Array(words).fill(-1));

  const { cache, batch, limits, vocabulary, logits } = model;
  if (!cache) throw new Error("the model has no KV cache");
  const arrays = batchArrays(memory, batch, limits);
  const tableStride = pagesOf(cache.context);
  const table = new Int32Array(buffer, cache.table, limits.sequences * tableStride);
  const tableRows = new Int32Array(buffer, cache.tableRows, limits.tokens);
  const runs = new Int32Array(buffer, cache.runs, limits.sequences * RUN_WORDS);
  const adapters = createAdapters({
    memory,
    kernels,
    linears: model.adapterTables,
    region: adapterRegion,
    staging,
  });
  const rowMasks = new Uint32Array(buffer, argmax.allowed, limits.selected);
  const results = new Int32Array(buffer, argmax.found, 2 * limits.selected);
  const runOperation = leadTeam(team, module, memory, decoderProgram({ model, argmax }));
  initWorkers?.({ memory, module, sizes });
  const bytesPerPage = pageBytes(shape);
  const pool = createPagePool(cache.pages, Math.floor(IDLE_BYTES / bytesPerPage), (page) =>
    growTo(arena, memory, arena.growsFrom() + (page + 1) * bytesPerPage),
  );
  // Kernels count in a layer's keys or values.
  const firstArray = (page: number) => page * arraysPerPage(shape);
  const states = new WeakMap<Sequence, State>();
  const stateOf = (sequence: Sequence) => {
    const state = states.get(sequence);
    if (!state) throw new Error("the sequence is another decoder's");
    return state;
  };

  function begin(tokens: readonly number[], adapter?: Adapter): Sequence {
    const { pages, cached } = pool.begin(tokens, -(adapter?.id ?? 0));
    const state = { pages, length: cached, adapter: adapter?.slot ?? 0 };
    const sequence = { length: () => state.length, grow: pages.grow, close: pages.release };
    states.set(sequence, state);
    return sequence;
  }

  function step(inputs: readonly StepInput[]): NextToken[][] {
    let [count, selected, run] = [0, 0, 0];
    /** First row of logits of each input. */
    const rows = new Map<StepInput, number>();
    const adapterOf = ({ sequence }: StepInput) => stateOf(sequence).adapter;
    // Groups tokens by adapter.
    const sorted = [...inputs].sort((a, b) => adapterOf(a) - adapterOf(b));
    for (const [index, input] of sorted.entries()) {
      const { sequence, tokens, wanted, allowed: ownMask } = input;
      const state = stateOf(sequence);
      table.set(state.pages.pages().map(firstArray), index * tableStride);
      if (state.adapter > 0) {
        const previous = sorted[index - 1];
        if (!previous || adapterOf(previous) !== state.adapter) {
          runs.set([count, 0, state.adapter], run++ * RUN_WORDS);
        }
        runs[(run - 1) * RUN_WORDS + 1]! += tokens.length;
      }
      for (const token of tokens) {
        arrays.tokens[count] = token;
        arrays.positions[count] = state.length++;
        tableRows[count++] = index;
      }
      // Slot 0 holds the decoder's own mask.
      const slot = ownMask && wanted > 0 ? selected + 1 : 0;
      if (slot > 0) new Int32Array(buffer, maskAt(slot), words).set(ownMask!);
      rows.set(input, selected);
      for (let i = count - wanted; i < count; i++) {
        rowMasks[selected] = maskAt(slot);
        arrays.selected[selected++] = i;
      }
    }
    if (count > MAX_TOKENS || selected > MAX_SEQUENCES) throw new Error("the step is too large");
    arrays.counts.set([count, inputs.length, selected, run]);
    runOperation(0);
    for (const { sequence, tokens } of inputs) stateOf(sequence).pages.read(tokens);
    return inputs.map((input) =>
      Array.from({ length: input.wanted }, (_, i) => nextToken(rows.get(input)! + i)),
    );
  }

  function nextToken(i: number): NextToken {
    const at = logits.at + i * logits.row * 4;
    const row = new Float32Array(buffer, at, vocabulary);
    return {
      logits: row,
      argmax: results[2 * i]!,
      isDegenerate: results[2 * i + 1] !== 0,
      logSumExp() {
        const highest = kernels.maxLogit(vocabulary, at);
        return highest + Math.log(kernels.sumExp(vocabulary, at, highest));
      },
      weights: (temperature) =>
        probabilitiesOf(kernels, sampling, row, { temperature, bits: rowMasks[i]! }),
    };
  }

  return { begin, step, adapters };
}

interface State {
  pages: SequencePages;
  length: number;
  /** Its adapter's slot, or 0. */
  adapter: number;
}
