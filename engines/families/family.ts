import { type Config } from "../modelFiles/configFile.ts";
import type { Dimensions } from "./dimensions.ts";
import type { Layers } from "./layers.ts";
import type { Projection } from "./projections.ts";
import type { SlidingConfig } from "./slidingLayers.ts";

/** Creates the error for a problem with a config; the text follows the file's path. */
export type Refuse = (problem: string) => Error;

/** A config's key for the activation, and all names of the family's activation. */
interface Activation {
  key: string;
  names: readonly [string, ...string[]];
}

/** Llama's. */
export const ACTIVATION: Activation = { key: "hidden_act", names: ["silu", "swish"] };

/** An architecture: how to read its `config.json`, and its operations. */
export interface Family {
  /** `architectures` of its `config.json`; its `model_type` is the family's name. */
  architecture: string;
  /** Defaults of missing keys, if they differ from Llama's. */
  defaults?: { tied?: boolean; theta?: number; headDim?: number; kvHeads?: number };
  /** Default: Llama's. */
  activation?: Activation;
  /** Projections with a bias, by its config. Default: Llama's. */
  biases?: (config: Config) => readonly Projection[];
  /** Whether norms multiply by 1 + weight. */
  hasCenteredNorms?: boolean;
  /** Default: Llama's. */
  sliding?: SlidingConfig;
  /** Whether Kit supports its sliding-window layers. */
  hasSlidingLayers?: boolean;
  /** Reads what its config has beyond Llama's. */
  read?: (config: Config, refuse: Refuse) => Partial<Dimensions>;
  /** The inverse, for a config that Kit writes. */
  write?: (d: Dimensions) => Config;
  build: <X>(layers: Layers<X>, d: Dimensions) => void;
}
