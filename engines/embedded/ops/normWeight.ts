import type { Address } from "../kernels/kernels.ts";
import type { Graph, OperationContext } from "./operation.ts";

export interface NormOptions {
  epsilon: number;
  /** Whether the norm multiplies by 1 + weight instead of by the weight. */
  isCentered: boolean;
}

/** A norm's effective weight, and the gradient of the stored one. */
export interface NormWeight {
  at: Address;
  grad: Address | undefined;
  /** Computes the effective weight anew, because training changes the stored one. Waits at no barrier. */
  prepare: (context: OperationContext) => void;
}

export function normWeight(
  graph: Graph,
  name: string,
  width: number,
  { isCentered }: NormOptions,
): NormWeight {
  const { at: weight, grad } = graph.vector([[name, width]]);
  if (!isCentered) return { at: weight, grad, prepare() {} };
  const at = graph.persistent(width);
  return { at, grad, prepare: ({ kernels }) => kernels.addOne(width, weight, at) };
}
