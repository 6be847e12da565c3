import { wordsOfBits } from "../../answers/allowedBits.ts";
import type { NextToken } from "../../answers/reader.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { type TensorSource, bfloat16Of } from "../../modelFiles/tensors.ts";
import { allocate } from "../kernels/arena.ts";
import { type KernelModule, instantiate } from "../kernels/module.ts";
import { PANEL } from "../kernels/products.ts";
import { createQuantizedWriter } from "../kernels/quantized.ts";
import { lead as leadTeam } from "../kernels/team.ts";
import { batchArrays } from "../model/batch.ts";
import { writeTensors } from "../model/tensors.ts";
import { RUN_WORDS, pagesOf } from "../ops/operation.ts";
import { type Adapter, createAdapters } from "./adapters.ts";
import {
  type DecoderSizes,
  MOST_SEQUENCES,
  MOST_TOKENS,
  pageBytes,
  planDecoder,
} from "./decoderPlan.ts";
import { decoderProgram } from "./decoderProgram.ts";
import { massesOf } from "./masses.ts";
import { type SequencePages, createPagePool } from "./pagePool.ts";

/** Answers several sequences at once, each as if it were alone: to the bit. */
export interface Decoder {
  /**
   * Begins a sequence.
   * @param tokens that it will read first: those that another sequence began with are there already
   * @param adapter of the model that reads them. Default: none.
   */
  begin: (tokens: readonly number[], adapter?: Adapter) => Sequence;
  /**
   * Reads tokens of up to `MOST_SEQUENCES` sequences, up to `MOST_TOKENS` in all, from every weight once.
   * Each must have room for its tokens.
   * @returns for each part, what follows the last ones of its tokens, as many as it wants
   */
  step: (parts: readonly StepPart[]) => NextToken[][];
  /** Adapters of the model, each another model to ask. */
  adapters: ReturnType<typeof createAdapters>;
}

/** Tokens that were read one after another, whose keys and values are kept. */
export interface Sequence {
  /** Tokens so far, a count. */
  length: () => number;
  /** Makes room for so many tokens more. @returns whether there is enough */
  grow: (tokens: number) => boolean;
  /** Gives its room back. Idempotent. */
  close: () => void;
}

export interface StepPart {
  sequence: Sequence;
  tokens: readonly number[];
  /** After how many of them, the last ones, the logits are wanted: of all parts together up to `MOST_SEQUENCES`. */
  wanted: number;
  /** Bits of the tokens that may be chosen there, as `allowedBits` has them. Default: the decoder's. */
  allowed?: Int32Array | undefined;
}

/** The input of a helper thread. */
export interface DecoderInvitation {
  memory: WebAssembly.Memory;
  module: KernelModule;
  sizes: DecoderSizes;
}

export interface DecoderOptions extends Omit<DecoderSizes, "shape" | "bfloat16" | "stored"> {
  /** Bits of the tokens that an answer may have, as `allowedBits` has them; asked once all fits. Default: all. */
  allowed?: () => Int32Array;
  /** Called once with the data helpers need; they may join at any time. */
  invite?: (invitation: DecoderInvitation) => void;
}

/** Bytes of those that no sequence uses, and that one which begins alike may take. */
const IDLE_BYTES = 2 ** 27;

/**
 * @param weights read once it is known that they fit; those in bfloat16 stay so
 * @throws KitError `OUT_OF_MEMORY` for what does not fit
 */
export function createDecoder(
  module: KernelModule,
  shape: Dimensions,
  weights: TensorSource,
  { allowed, invite, ...options }: DecoderOptions = {},
): Decoder {
  const types = [...weights.tensors].map(([name, { type }]) => [name, type] as const);
  const stored = Object.fromEntries(types);
  const sizes = { shape, bfloat16: bfloat16Of(weights), stored, ...options };
  const { arena, team, model, bits, choice, drawing, ...planned } = planDecoder(sizes);
  const { staging, stagingBytes, region } = planned;
  const memory = allocate(arena);
  const { buffer } = memory;
  const kernels = instantiate(module, memory);
  const room = { at: staging, bytes: stagingBytes };
  writeTensors(memory, model.tensors.frozen, weights, (matrix, row) =>
    createQuantizedWriter(kernels, memory, matrix, room, row),
  );
  for (const { at, out, in: width, isBf16 = false } of model.tensors.matrices) {
    kernels.makePanels(Math.ceil(out / PANEL) * PANEL, width, at, isBf16, staging);
  }
  for (const { at, values } of model.constants) {
    const numbers = values();
    new Float32Array(buffer, at, numbers.length).set(numbers);
  }
  const words = wordsOfBits(model.vocabulary);
  const bitsOf = (place: number) => bits + place * words * 4;
  new Int32Array(buffer, bits, words).set(allowed?.() ?? new Int32Array(words).fill(-1));

  const { cache, batch, limits, vocabulary, logits } = model;
  if (!cache) throw new Error("the model keeps nothing");
  const arrays = batchArrays(memory, batch, limits);
  const tableRow = pagesOf(cache.context);
  const table = new Int32Array(buffer, cache.table, limits.sequences * tableRow);
  const owners = new Int32Array(buffer, cache.owners, limits.tokens);
  const runs = new Int32Array(buffer, cache.runs, limits.sequences * RUN_WORDS);
  const adapters = createAdapters({ memory, kernels, maps: model.adapted, region, staging });
  const rowBits = new Uint32Array(buffer, choice.allowed, limits.selected);
  const found = new Int32Array(buffer, choice.found, 2 * limits.selected);
  const lead = leadTeam(team, module, memory, decoderProgram({ model, choice }));
  invite?.({ memory, module, sizes });
  const pool = createPagePool(cache.pages, Math.floor(IDLE_BYTES / pageBytes(shape)));
  const states = new WeakMap<Sequence, State>();
  const stateOf = (sequence: Sequence) => {
    const state = states.get(sequence);
    if (!state) throw new Error("the sequence is another decoder's");
    return state;
  };

  function begin(tokens: readonly number[], adapter?: Adapter): Sequence {
    const { pages, known } = pool.begin(tokens, -(adapter?.number ?? 0));
    const state = { pages, length: known, adapter: adapter?.place ?? 0 };
    const sequence = { length: () => state.length, grow: pages.grow, close: pages.release };
    states.set(sequence, state);
    return sequence;
  }

  function step(parts: readonly StepPart[]): NextToken[][] {
    let [count, selected, run] = [0, 0, 0];
    /** Of each part, the first of its rows of logits. */
    const rows = new Map<StepPart, number>();
    const adapterOf = ({ sequence }: StepPart) => stateOf(sequence).adapter;
    // Tokens of one adapter lie together.
    const sorted = [...parts].sort((a, b) => adapterOf(a) - adapterOf(b));
    for (const [owner, part] of sorted.entries()) {
      const { sequence, tokens, wanted, allowed: own } = part;
      const state = stateOf(sequence);
      table.set(state.pages.pages(), owner * tableRow);
      if (state.adapter > 0) {
        const before = sorted[owner - 1];
        if (!before || adapterOf(before) !== state.adapter) {
          runs.set([count, 0, state.adapter], run++ * RUN_WORDS);
        }
        runs[(run - 1) * RUN_WORDS + 1]! += tokens.length;
      }
      for (const token of tokens) {
        arrays.tokens[count] = token;
        arrays.positions[count] = state.length++;
        owners[count++] = owner;
      }
      // The decoder's own are the first.
      const place = own && wanted > 0 ? selected + 1 : 0;
      if (place > 0) new Int32Array(buffer, bitsOf(place), words).set(own!);
      rows.set(part, selected);
      for (let i = count - wanted; i < count; i++) {
        rowBits[selected] = bitsOf(place);
        arrays.selected[selected++] = i;
      }
    }
    if (count > MOST_TOKENS || selected > MOST_SEQUENCES) throw new Error("the step is too large");
    arrays.counts.set([count, parts.length, selected, run]);
    lead(0);
    for (const { sequence, tokens } of parts) stateOf(sequence).pages.read(tokens);
    return parts.map((part) =>
      Array.from({ length: part.wanted }, (_, i) => nextToken(rows.get(part)! + i)),
    );
  }

  function nextToken(i: number): NextToken {
    const at = logits.at + i * logits.row * 4;
    const row = new Float32Array(buffer, at, vocabulary);
    return {
      logits: row,
      likeliest: found[2 * i]!,
      isTelling: found[2 * i + 1] === 1,
      logTotal() {
        const highest = kernels.greatestLogit(vocabulary, at);
        return highest + Math.log(kernels.massOfAll(vocabulary, at, highest));
      },
      masses: (temperature) => massesOf(kernels, drawing, row, { temperature, bits: rowBits[i]! }),
    };
  }

  return { begin, step, adapters };
}

/** Of a sequence. */
interface State {
  pages: SequencePages;
  length: number;
  /** Its adapter's place, or 0. */
  adapter: number;
}
