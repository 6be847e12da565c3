/** Sizes of a Llama-architecture model that starts from random weights. */
export interface ModelShape {
  /** Transformer blocks. */
  layers: number;
  /** Attention heads; divides `width` into an even head size. */
  heads: number;
  /** Size of the hidden state. */
  width: number;
  /** Longest sequence, in tokens. */
  context: number;
}

/** Low-rank adaptation, with PEFT's names: the base model is frozen, an adapter is trained. */
export interface LoraConfig {
  /** Rank of the update. */
  r: number;
  /** The update is scaled by `alpha / r`. */
  alpha: number;
  /** Llama's projection names, such as `q_proj`. */
  targetModules: string[];
}

/** A run with every default filled in; plain data, written to the job as it is. */
export interface TrainConfig {
  /** A preset's name, a shape, or the absolute path of a checkpoint directory. */
  model: string | ModelShape;
  dataset: {
    type: "jsonl";
    /** Absolute. */
    path: string;
  };
  lora: LoraConfig | null;
  maxSteps: number;
  /** Rows a step. */
  batchSize: number;
  /** Longest row in tokens; null means the model's context. */
  maxLength: number | null;
  /** Peak of the schedule: linear warm-up, then cosine to a tenth of it. */
  learningRate: number;
  warmupSteps: number;
  /** Decoupled, as in AdamW. */
  weightDecay: number;
  /** The gradient's global L2 norm is clipped to this. */
  maxGradNorm: number;
  /** Steps between two `training.log` events; the first two steps and the last are always logged. */
  loggingSteps: number;
  /** Steps between two checkpoints; the last step is always saved. */
  saveSteps: number;
  /** Decides the initial weights and the order of the rows: the same seed, the same losses. */
  seed: number;
}
