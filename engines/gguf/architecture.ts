import { KitError } from "../../protocol/error.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { type Projection, PROJECTIONS } from "../families/projections.ts";
import type { Modules } from "./tensorNames.ts";

/** How llama.cpp describes a family. */
export interface Architecture {
  /** `general.architecture`. */
  name: string;
  /** llama.cpp's rope type: "norm" pairs adjacent dimensions of a head, "neox" those half a head apart. */
  ropeType: "norm" | "neox";
  /** Projections that may have a bias. */
  biases: readonly Projection[];
  /** Whether it supports Llama 3's RoPE scaling. */
  hasRopeFactors: boolean;
  /** Whether `headDim` may differ from width / heads. */
  hasHeadSize: boolean;
  /** Whether a layer has no RoPE. */
  isNoRope: (layer: number) => boolean;
  /** What the file adds to the weights of norms. Default 0. */
  normOffset?: number;
  /** Names of its modules, where they differ from the usual ones. */
  modules?: Modules;
  /** Which layers have full attention. The others have a sliding window, and RoPE with this theta. */
  sliding?: { isFull: (layer: number) => boolean; theta: number };
}

const LLAMA: Architecture = {
  name: "llama",
  ropeType: "norm",
  biases: PROJECTIONS,
  hasRopeFactors: true,
  hasHeadSize: true,
  isNoRope: () => false,
};

const QWEN2: Architecture = {
  name: "qwen2",
  ropeType: "neox",
  biases: ["q_proj", "k_proj", "v_proj"],
  hasRopeFactors: false,
  hasHeadSize: false,
  isNoRope: () => false,
};

/** Architectures by family. */
const ARCHITECTURES: Record<string, Architecture> = {
  llama: LLAMA,
  mistral: LLAMA,
  qwen2: QWEN2,
  qwen3: { ...QWEN2, name: "qwen3", biases: [], hasHeadSize: true },
  smollm3: {
    ...LLAMA,
    name: "smollm3",
    biases: [],
    hasRopeFactors: false,
    isNoRope: (layer) => (layer + 1) % 4 === 0,
  },
  gemma3_text: {
    ...QWEN2,
    name: "gemma3",
    biases: [],
    hasHeadSize: true,
    normOffset: 1,
    modules: [
      [/^model\.layers\.(\d+)\.post_attention_layernorm$/, "blk.$1.post_attention_norm"],
      [/^model\.layers\.(\d+)\.pre_feedforward_layernorm$/, "blk.$1.ffn_norm"],
      [/^model\.layers\.(\d+)\.post_feedforward_layernorm$/, "blk.$1.post_ffw_norm"],
    ],
    sliding: { isFull: (layer) => (layer + 1) % 6 === 0, theta: 10_000 },
  },
};

/**
 * llama.cpp's architecture for a model.
 * @param label the model, for errors
 * @throws KitError `CHECKPOINT_INVALID` if llama.cpp doesn't support it
 */
export function architectureOf(d: Dimensions, label: string): Architecture {
  const found = ARCHITECTURES[d.family];
  const problem = found ? unsupportedIn(found, d) : `the family ${d.family}`;
  if (found && problem === undefined) return found;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${label} has ${problem}, which llama.cpp does not support. Use --format safetensors.`,
  );
}

/** What the file adds to a tensor's values. */
export function normOffset({ normOffset: offset = 0 }: Architecture, name: string): number {
  return name.endsWith("norm.weight") ? offset : 0;
}

/** Rows of a head if llama.cpp permutes a tensor's rows within each head, else 1. */
export function permutedRows(
  { ropeType }: Architecture,
  name: string,
  { headDim }: Dimensions,
): number {
  const isPermuted = ropeType === "norm" && /\.[qk]_proj\.(weight|bias|lora_B\.weight)$/.test(name);
  return isPermuted ? headDim : 1;
}

function unsupportedIn(known: Architecture, d: Dimensions): string | undefined {
  const { name, biases, hasRopeFactors, hasHeadSize, isNoRope, sliding } = known;
  const bias = d.biases.find((projection) => !biases.includes(projection));
  if (bias !== undefined) return `a bias of ${bias} in ${name}`;
  if (d.rope.type === "llama3" && !hasRopeFactors) return `Llama 3's RoPE scaling in ${name}`;
  if (d.heads * d.headDim !== d.width && !hasHeadSize)
    return `a head size other than width / heads in ${name}`;
  if (d.queryScalar !== d.headDim) return "a query_pre_attn_scalar other than its head size";
  const layers = Array.from({ length: d.layers }, (_, layer) => layer);
  const differs = (found: readonly number[], isExpected: (layer: number) => boolean) =>
    layers.some((layer) => found.includes(layer) !== isExpected(layer));
  if (differs(d.noRopeLayers, isNoRope)) return "layers without RoPE other than every fourth";
  if (!d.sliding || !sliding) return undefined;
  if (d.sliding.theta !== sliding.theta)
    return `a rope_theta other than ${sliding.theta} in its sliding layers`;
  if (differs(d.sliding.layers, (layer) => !sliding.isFull(layer)))
    return "full-attention layers other than every sixth";
  return undefined;
}
