import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import { wordsOfBits } from "../../answers/allowedBits.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import { isBlockType } from "../../modelFiles/numberTypes.ts";
import { type Arena, planArena } from "../kernels/arena.ts";
import { PANEL } from "../kernels/products.ts";
import { planTeam } from "../kernels/team.ts";
import type { ModelPlan } from "../model/passes.ts";
import { placeModel } from "../model/place.ts";
import { MOST_RANK } from "../ops/adapters.ts";
import { PAGE, pagesOf } from "../ops/operation.ts";
import { planMasses } from "./masses.ts";

/** Sequences that one step takes, at most. */
export const MOST_SEQUENCES = 32;
/** Tokens of all of them that one step reads, at most. */
export const MOST_TOKENS = 256;

/** Bytes of keys and values of all sequences, unless a single one needs more. Taken as they are used. */
const CACHE_BYTES = 2 ** 30;
/** Bytes for adapters: of rank 16 on all maps of 135 million weights, 20 MB each. */
const ADAPTER_BYTES = 2 ** 28;
/** What all threads of a decoder plan its memory by. */
export interface DecoderSizes {
  shape: Dimensions;
  bfloat16?: ReadonlySet<string> | undefined;
  /** What matrices become while they are read. Default: they stay as they are. */
  quantize?: QuantizedType | undefined;
  /** The types in which tensors are stored, by their names. */
  stored?: Readonly<Record<string, string>> | undefined;
  /** At most. Default 1. */
  threads?: number;
  /** Of keys and values, for all sequences together. Default: as many as a gibibyte holds. */
  pages?: number | undefined;
  /** Bytes kept for adapters, taken as they are used. Default `ADAPTER_BYTES`. */
  adapterBytes?: number | undefined;
}

/** Where a decoder has what its program reads. */
export interface DecoderPlan {
  model: ModelPlan;
  choice: ChoicePlan;
}

/** Where `likeliest` has its words of each row of logits. */
export interface ChoicePlan {
  /** uint32 [selected]: the addresses of its bits. */
  allowed: number;
  /** int32 [selected, 2]: what is found. */
  found: number;
}

/** The memory of a decoder, the same on every thread. */
export function planDecoder(sizes: DecoderSizes) {
  const { shape, bfloat16, quantize, stored, threads = 1, pages = pageCount(shape) } = sizes;
  const { adapterBytes = ADAPTER_BYTES } = sizes;
  const { context } = shape;
  const place = (arena: Arena) => {
    const team = planTeam(arena, threads);
    const model = placeModel(arena, shape, {
      ...{ bfloat16, isTrained: false, inPanels: true, quantize, stored, threads },
      cache: { context, pages },
      limits: {
        ...{ tokens: MOST_TOKENS, sequences: MOST_SEQUENCES, selected: MOST_SEQUENCES },
        ...{ longest: context, squares: 0 },
      },
      recompute: { cheap: false, parts: 0 },
    });
    const { width, intermediateSize, heads, headDim } = shape;
    const widest = Math.max(width, intermediateSize, heads * headDim, MOST_RANK);
    const words = (count: number) => arena.words("work", count);
    return {
      ...{ team, model },
      choice: { allowed: words(MOST_SEQUENCES), found: words(2 * MOST_SEQUENCES) },
      // The decoder's, and those of each row.
      bits: words((MOST_SEQUENCES + 1) * wordsOfBits(model.vocabulary)),
      drawing: planMasses(arena, model.vocabulary),
      region: { at: arena.bytes("work", adapterBytes), bytes: adapterBytes },
      // A panel, or rows to quantize.
      ...{ staging: words(PANEL * widest), stagingBytes: PANEL * widest * 4 },
    };
  };
  const isQuantized = quantize !== undefined || Object.values(stored ?? {}).some(isBlockType);
  return planArena(
    place,
    isQuantized ? "Use a smaller model" : 'Use a smaller model, or quantize: "q8_0"',
  );
}

/** As many as `CACHE_BYTES` hold, but all of one sequence, and no more than all sequences have. */
function pageCount(shape: Dimensions): number {
  const each = pagesOf(shape.context);
  const most = Math.floor(CACHE_BYTES / pageBytes(shape));
  return Math.min(MOST_SEQUENCES * each, Math.max(each, most));
}

/** Bytes of a page's keys and values in all layers. */
export function pageBytes(shape: Dimensions): number {
  const { layers, kvHeads, headDim } = shape;
  return 2 * layers * kvHeads * headDim * PAGE * 4;
}
