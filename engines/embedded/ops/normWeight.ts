import type { Address } from "../kernels/kernels.ts";
import type { Graph, Worker } from "./operation.ts";

/** Of an RMSNorm. */
export interface NormOptions {
  epsilon: number;
  /** Whether it multiplies by 1 + the weight, and not by the weight. */
  isCentered: boolean;
}

/** What a norm multiplies by, and the gradient of its weight. */
export interface NormWeight {
  at: Address;
  grad: Address | undefined;
  /** Makes it of the weight, which may have changed; waits at no barrier. */
  prepare: (worker: Worker) => void;
}

export function normWeight(
  graph: Graph,
  name: string,
  width: number,
  { isCentered }: NormOptions,
): NormWeight {
  const { at: weight, grad } = graph.vector([[name, width]]);
  if (!isCentered) return { at: weight, grad, prepare() {} };
  const at = graph.own(width);
  return { at, grad, prepare: ({ kernels }) => kernels.addOne(width, weight, at) };
}
