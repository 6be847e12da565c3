import { numpy as np } from "@jax-js/jax";
import type { LoraConfig } from "../../../protocol/trainConfig.ts";
import { type Linear, type Params, barrier, take } from "./model.ts";

/** The base's maps, each with its adapter's update where it has one. */
export function adaptedLinear(base: Params, adapter: Params, { r, alpha }: LoraConfig): Linear {
  return (x, name) => {
    const frozen = (h: np.Array) => barrier(np.dot(h, take(base, `${name}.weight`).transpose()));
    if (!adapter[`${name}.lora_A.weight`]) return frozen(x);
    const inner = np.dot(x.ref, take(adapter, `${name}.lora_A.weight`).transpose());
    const update = np.dot(inner, take(adapter, `${name}.lora_B.weight`).transpose());
    return frozen(x).add(update.mul(alpha / r));
  };
}
