import { type Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { Layers } from "./layers.ts";
import type { Projection } from "./projections.ts";
import type { SlidingConfig } from "./slidingLayers.ts";

/** Makes the error for a problem of a config, which follows the file's path. */
export type Refuse = (problem: string) => Error;

/** What a config calls the activation, and all names of the one that the family has. */
interface Activation {
  key: string;
  names: readonly [string, ...string[]];
}

/** Llama's. */
export const ACTIVATION: Activation = { key: "hidden_act", names: ["silu", "swish"] };

/** Models that are alike: how a `config.json` describes one, and the operations that it is made of. */
export interface Family {
  /** `architectures` of its `config.json`; its `model_type` is the family's name. */
  architecture: string;
  /** What a config means by a key that it leaves out, where that differs from Llama's. */
  defaults?: { tied?: boolean; theta?: number; headDim?: number; kvHeads?: number };
  /** Default: Llama's. */
  activation?: Activation;
  /** Projections that have a bias, by its config. Default: Llama's. */
  biases?: (config: Config) => readonly Projection[];
  /** Whether its norms multiply by 1 + the weight, and not by the weight. */
  hasCenteredNorms?: boolean;
  /** Default: Llama's. */
  sliding?: SlidingConfig;
  /** Whether Kit computes layers that see the last tokens alone. */
  hasSlidingLayers?: boolean;
  /** What its config has besides Llama's. */
  read?: (config: Config, refuse: Refuse) => Partial<Dimensions>;
  /** The same for a config that Kit writes, by its keys. */
  write?: (d: Dimensions) => Config;
  list: <X>(layers: Layers<X>, d: Dimensions) => void;
}
