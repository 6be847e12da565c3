import { isKitError } from "../../../protocol/error.ts";
import type { Dimensions } from "../../families/dimensions.ts";
import type { TensorSource } from "../../modelFiles/tensors.ts";
import type { KernelModule } from "../kernels/module.ts";
import { type Decoder, type DecoderOptions, createDecoder } from "./decoder.ts";

/** Minimum context, in tokens. If not even that fits, the model doesn't load. */
const MIN_CONTEXT = 512;

/**
 * Creates a decoder with the model's context, halved until it fits in memory. The system commits memory as it is used.
 * @throws KitError `OUT_OF_MEMORY`
 */
export function createFittedDecoder(
  module: KernelModule,
  shape: Dimensions,
  weights: TensorSource,
  options: DecoderOptions = {},
): { context: number; decoder: Decoder } {
  const { context } = shape;
  try {
    return { context, decoder: createDecoder(module, shape, weights, options) };
  } catch (error) {
    const isTooLarge = isKitError(error) && error.code === "OUT_OF_MEMORY";
    if (!isTooLarge || context < 2 * MIN_CONTEXT) throw error;
    const halved = { ...shape, context: Math.floor(context / 2) };
    return createFittedDecoder(module, halved, weights, options);
  }
}
