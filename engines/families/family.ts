import type { Config, Dimensions } from "./dimensions.ts";
import type { Layers } from "./layers.ts";

/** Llama's: what a config calls it, and the one that it has. */
export const ACTIVATION = { key: "hidden_act", name: "silu" };

/** Models that are alike: how a `config.json` describes one, and the operations that it is made of. */
export interface Family {
  /** `architectures` of its `config.json`; its `model_type` is the family's name. */
  architecture: string;
  /** What a config means by a key that it leaves out, where that differs from Llama's. */
  defaults?: { tied?: boolean; theta?: number; headDim?: number; slidingWindow?: number };
  /** Default: Llama's. */
  activation?: typeof ACTIVATION;
  /** Whether its norms multiply by 1 + the weight, and not by the weight. */
  hasCenteredNorms?: boolean;
  /** Whether its layers may attend to the last tokens alone. */
  hasSlidingLayers?: boolean;
  /**
   * What its config has besides Llama's.
   * @param refuse makes the error for a problem, which follows the file's path
   */
  read?: (config: Config, refuse: (problem: string) => Error) => Partial<Dimensions>;
  /** The same for a config that Kit writes, by its keys. */
  write?: (d: Dimensions) => Config;
  list: <X>(layers: Layers<X>, d: Dimensions) => void;
}
