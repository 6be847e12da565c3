import type { Dimensions, Rope } from "../families/dimensions.ts";
import type { Architecture } from "./architecture.ts";
import { type Metadata, float32, string, uint32 } from "./metadata.ts";

/** llama.cpp's metadata for a model's hyperparameters. */
export function shapeMetadata({ name }: Architecture, d: Dimensions): Metadata {
  const entries: Metadata = {
    block_count: uint32(d.layers),
    context_length: uint32(d.context),
    embedding_length: uint32(d.width),
    feed_forward_length: uint32(d.intermediateSize),
    "attention.head_count": uint32(d.heads),
    "attention.head_count_kv": uint32(d.kvHeads),
    "attention.key_length": uint32(d.headDim),
    "attention.value_length": uint32(d.headDim),
    "attention.layer_norm_rms_epsilon": float32(d.epsilon),
    "rope.dimension_count": uint32(d.headDim),
    "rope.freq_base": float32(d.rope.theta),
    ...scaling(d.rope),
    ...(d.sliding && {
      "attention.sliding_window": uint32(Math.min(d.sliding.window, d.context)),
    }),
    vocab_size: uint32(d.vocabulary),
  };
  return Object.fromEntries(
    Object.entries(entries).map(([key, value]) => [`${name}.${key}`, value]),
  );
}

function scaling(rope: Rope): Metadata {
  switch (rope.type) {
    case "default":
    case "llama3":
      return {};
    case "linear":
      return {
        "rope.scaling.type": string("linear"),
        "rope.scaling.factor": float32(rope.factor),
      };
  }
}
