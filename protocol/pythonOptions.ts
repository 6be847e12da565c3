/** How `python()` trains: nothing is needed, and names are those of `TrainingArguments`. */
export interface PythonOptions {
  /**
   * The interpreter: its path or that of its environment's folder, relative to the project, or a name on
   * the `PATH`. Default: the first that exists of `KIT_PYTHON`, `.kit/python`, `VIRTUAL_ENV`,
   * `CONDA_PREFIX`, the nearest `.venv` upwards, and `python3`.
   */
  path?: string;
  /** Variables of the Python process, besides those of this one. Default: no others. */
  env?: Record<string, string>;
  /** Multiplies in bfloat16. Default: on CUDA, if the GPU can. */
  bf16?: boolean;
  /** Computes activations again instead of keeping them: less memory, more time. Default `false`. */
  gradientCheckpointing?: boolean;
}
