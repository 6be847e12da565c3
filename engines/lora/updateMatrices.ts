import type { LoraConfig } from "../../protocol/trainConfig.ts";

/** A linear layer's LoRA update: y += scale · (x·Aᵀ)·Bᵀ. */
export interface LoraUpdate<Matrix> {
  /** [r, in] */
  a: Matrix;
  /** [out, r] */
  b: Matrix;
  /** alpha / r */
  scale: number;
}

/** Plans each adapted layer's update. @param matrix reserves a trained one, by its tensors and their rows */
export function planUpdates<Matrix>(
  lora: LoraConfig | undefined,
  matrix: (tensors: Record<string, number>, inner: number) => Matrix,
) {
  return (
    name: string,
    target: string,
    out: number,
    inner: number,
  ): LoraUpdate<Matrix> | undefined => {
    if (!lora?.targetModules.includes(target)) return undefined;
    const { r, alpha } = lora;
    return {
      a: matrix({ [`${name}.lora_A.weight`]: r }, inner),
      b: matrix({ [`${name}.lora_B.weight`]: out }, r),
      scale: alpha / r,
    };
  };
}
