import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import { bitmapLength } from "../../answers/allowedBits.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { isBlockType } from "../../modelFiles/numberTypes.ts";
import { type Arena, planArena } from "../kernels/arena.ts";
import { PANEL } from "../kernels/matmuls.ts";
import { planTeam } from "../kernels/team.ts";
import type { ModelPlan } from "../model/passes.ts";
import { planModel } from "../model/planModel.ts";
import { MAX_RANK } from "../ops/adapters.ts";
import { PAGE, pagesOf } from "../ops/operation.ts";
import { planProbabilities } from "./probabilities.ts";

/** Maximum sequences of a step. */
export const MAX_SEQUENCES = 32;
/** Maximum tokens of a step, all sequences together. */
export const MAX_TOKENS = 256;

/** Maximum bytes of the KV cache, unless a single sequence needs more. */
const CACHE_BYTES = 2 ** 30;
/** Bytes for adapters. One of rank 16 on all linear layers of a model with 135 million parameters takes 20 MB. */
const ADAPTER_BYTES = 2 ** 28;
/** Inputs of the memory plan, the same on all threads. */
export interface DecoderSizes {
  shape: Dimensions;
  bfloat16?: ReadonlySet<string> | undefined;
  /** Type to quantize matrices to. Default: their own type. */
  quantize?: QuantizedType | undefined;
  /** Stored types of tensors, by name. */
  stored?: Readonly<Record<string, string>> | undefined;
  /** Maximum threads. Default 1. */
  threads?: number;
  /** Pages of the KV cache. Default: as many as fit in `CACHE_BYTES`. */
  pages?: number | undefined;
  /** Bytes reserved for adapters. Default `ADAPTER_BYTES`. */
  adapterBytes?: number | undefined;
}

/** Addresses that a decoder's program uses. */
export interface DecoderPlan {
  model: ModelPlan;
  argmax: ArgmaxPlan;
}

/** Addresses that the kernel `argmax` uses. */
export interface ArgmaxPlan {
  /** uint32 [selected]: addresses of bit masks. */
  allowed: number;
  /** int32 [selected, 2]: results. */
  found: number;
}

/** Plans a decoder's memory. Every thread makes the same plan. */
export function planDecoder(sizes: DecoderSizes) {
  const { shape, bfloat16, quantize, stored, threads = 1, pages = pageCount(shape) } = sizes;
  const { adapterBytes = ADAPTER_BYTES } = sizes;
  const { context } = shape;
  const plan = (arena: Arena) => {
    const team = planTeam(arena, threads);
    const model = planModel(arena, shape, {
      bfloat16,
      isTrained: false,
      inPanels: true,
      quantize,
      stored,
      threads,
      cache: { context, pages },
      limits: {
        tokens: MAX_TOKENS,
        sequences: MAX_SEQUENCES,
        selected: MAX_SEQUENCES,
        longest: context,
        scores: 0,
      },
      recompute: { cheap: false, segments: 0 },
    });
    const { width, intermediateSize, heads, headDim } = shape;
    const widest = Math.max(width, intermediateSize, heads * headDim, MAX_RANK);
    const reserve = (count: number) => arena.reserveWords("work", count);
    return {
      team,
      model,
      argmax: { allowed: reserve(MAX_SEQUENCES), found: reserve(2 * MAX_SEQUENCES) },
      // The decoder's bit mask of allowed tokens, and one for each row.
      masks: reserve((MAX_SEQUENCES + 1) * bitmapLength(model.vocabulary)),
      sampling: planProbabilities(arena, model.vocabulary),
      adapterRegion: { at: arena.reserveBytes("work", adapterBytes), bytes: adapterBytes },
      // Holds a panel, or rows to quantize.
      staging: reserve(PANEL * widest),
      stagingBytes: PANEL * widest * 4,
    };
  };
  const isQuantized = quantize !== undefined || Object.values(stored ?? {}).some(isBlockType);
  return planArena(
    plan,
    isQuantized ? "Use a smaller model" : 'Use a smaller model, or quantize: "q8_0"',
  );
}

/** As many pages as fit in `CACHE_BYTES`, but enough for one sequence, and no more than all sequences can use. */
function pageCount(shape: Dimensions): number {
  const pagesPerSequence = pagesOf(shape.context);
  const fitting = Math.floor(CACHE_BYTES / pageBytes(shape));
  return Math.min(MAX_SEQUENCES * pagesPerSequence, Math.max(pagesPerSequence, fitting));
}

/** Bytes of a page, in all layers. */
export function pageBytes(shape: Dimensions): number {
  const { kvHeads, headDim } = shape;
  return arraysPerPage(shape) * kvHeads * headDim * PAGE * 4;
}

/** Each layer's keys and values. */
export function arraysPerPage({ layers }: Dimensions): number {
  return 2 * layers;
}
