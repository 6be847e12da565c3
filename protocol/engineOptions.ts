import type { GgufType } from "./exportFormat.ts";

/** Functions of `kit/engines` that return an engine for training. */
export const TRAINING_ENGINES = ["webgpu", "python", "ray"] as const;

/** Options of `python()`, all optional, named as in `TrainingArguments`. */
export interface PythonOptions {
  /**
   * The interpreter: its path or that of its environment's folder, relative to the project, or a name on
   * the `PATH`. Default: the first that exists of `KIT_PYTHON`, `.kit/python`, `VIRTUAL_ENV`,
   * `CONDA_PREFIX`, the nearest `.venv` upwards, and `python3`.
   */
  path?: string;
  /** Environment variables of the Python process, besides those of this process. Default: none. */
  env?: Record<string, string>;
  /** Whether to compute in bfloat16. Default: on CUDA, if the GPU supports it. */
  bf16?: boolean;
  /** Whether to recompute activations instead of storing them: less memory, more time. Default `false`. */
  gradientCheckpointing?: boolean;
}

/** Options of `llama()`. */
export interface LlamaOptions {
  /**
   * Number type of the GGUF file to which a model is converted. Default: the model's own, or for an adapter the type
   * that its base had in training.
   */
  type?: GgufType;
}

/** Options of `webgpu()`, all optional. */
export interface WebgpuOptions {
  /** The GPU: a part of its name, in any case. Default: the system's choice. */
  adapter?: string;
  /** Which GPU the system prefers where there are several. Default `"high-performance"`. */
  powerPreference?: "low-power" | "high-performance";
}

/** Options of `ray()`; all but the address have defaults. */
export interface RayOptions {
  /**
   * The dashboard's URL, such as `http://head:8265`. Default: the variable `RAY_API_SERVER_ADDRESS` or
   * `RAY_ADDRESS`. Must not contain a password: records show it.
   */
  address?: string;
  /**
   * The access token of a cluster that requires one. Default: the variable `RAY_AUTH_TOKEN`, the file that
   * `RAY_AUTH_TOKEN_PATH` names, `~/.ray/auth_token`. Kept out of logs and records.
   */
  token?: string;
  /** Processes that share each batch; `batchSize` is a multiple of it. At most 10,000. Default 1. */
  workers?: number;
  /** CPU cores of a worker. May be a fraction; 0 only with GPUs. Default 1. */
  cpusPerWorker?: number;
  /** GPUs of a worker: a whole number, or a fraction below 1. A worker computes on one. Default 0. */
  gpusPerWorker?: number;
  /**
   * Where checkpoints are kept: a path that every node sees, or a URL such as `s3://bucket/runs`.
   * Must not contain keys; the cluster's environment has them. Required with more than one node. Default: `~/ray_results` on the only one.
   */
  storage?: string;
  /** Packages that Ray installs for this job, as pip names them. Default: none. */
  pip?: string[];
  /** How often lost workers are restarted before training fails. Default 3. */
  maxFailures?: number;
}
