import type { GgufType } from "./exportFormat.ts";

/** How `llama()` answers. */
export interface LlamaOptions {
  /**
   * Type of the GGUF file that it makes of a model. Default: the model's own, or the one that an adapter's base had in
   * training.
   */
  type?: GgufType;
}
