import type { Address } from "./kernels.ts";

/** RMSNorm, of whole rows and of heads: a part of `Kernels`. */
export interface NormKernels {
  norm: (
    rows: number,
    width: number,
    x: Address,
    w: Address,
    y: Address,
    rstd: Address,
    epsilon: number,
  ) => void;
  normBack: (
    rows: number,
    width: number,
    x: Address,
    w: Address,
    rstd: Address,
    dy: Address,
    dx: Address,
    added: Address,
  ) => void;
  normWeightBack: (
    rows: number,
    width: number,
    x: Address,
    rstd: Address,
    dy: Address,
    dw: Address,
    added: Address,
  ) => void;
  headNorm: (
    rows: number,
    heads: number,
    headDim: number,
    x: Address,
    xRow: number,
    w: Address,
    y: Address,
    yRow: number,
    rstd: Address,
    epsilon: number,
  ) => void;
  headNormBack: (
    rows: number,
    heads: number,
    headDim: number,
    x: Address,
    xRow: number,
    w: Address,
    rstd: Address,
    dy: Address,
    yRow: number,
  ) => void;
  headNormWeightBack: (
    rows: number,
    heads: number,
    headDim: number,
    x: Address,
    xRow: number,
    rstd: Address,
    dy: Address,
    yRow: number,
    dw: Address,
    added: Address,
  ) => void;
}
