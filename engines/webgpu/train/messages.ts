import type { WebgpuOptions } from "../../../protocol/engineOptions.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import type { LocatedModel } from "../../families/modelSource.ts";

/** The input of a training process. */
export interface GpuJob {
  options: WebgpuOptions;
  /** Folder to resolve `webgpu` from. */
  project: string;
  config: TrainConfig;
  directory: string;
  source: LocatedModel;
  resumeFrom: string | undefined;
  /** Set to only check the training run; with `measures`, also to measure losses. */
  check?: { measures: boolean };
}
