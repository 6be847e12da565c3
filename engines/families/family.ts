import type { Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { Layers } from "./layers.ts";
import type { Projection } from "./projections.ts";
import type { SlidingConfig } from "./slidingLayers.ts";

/** Creates the error for a problem with a config. Its message is the config's path and the problem. */
export type InvalidConfig = (problem: string) => Error;

/** A config's key for the activation, and all names of the family's activation. */
interface Activation {
  key: string;
  names: readonly [string, ...string[]];
}

/** Llama's activation. */
export const ACTIVATION: Activation = { key: "hidden_act", names: ["silu", "swish"] };

/** An architecture: how to read its `config.json`, and its operations. */
export interface Family {
  /** The only entry of `architectures` in its `config.json`. */
  architecture: string;
  /** Defaults of missing keys, if they differ from Llama's. */
  defaults?: { tied?: boolean; theta?: number; headDim?: number; kvHeads?: number };
  /** Default: Llama's. */
  activation?: Activation;
  /** Projections that have a bias, according to the config. Default: Llama's. */
  biases?: (config: Config) => readonly Projection[];
  /** Whether norms multiply by 1 + weight instead of by the weight. */
  hasCenteredNorms?: boolean;
  /** How its config describes sliding-window layers. Default: as Llama's. */
  sliding?: SlidingConfig;
  /** Whether Kit supports its sliding-window layers. */
  hasSlidingLayers?: boolean;
  /** Reads the dimensions that its config describes differently from Llama's. */
  read?: (config: Config, invalid: InvalidConfig) => Partial<Dimensions>;
  /** The inverse of `read`: the keys that Kit writes to a config beyond Llama's. */
  write?: (d: Dimensions) => Config;
  /** Builds the model from a backend's operations. */
  build: <X>(layers: Layers<X>, d: Dimensions) => void;
}
