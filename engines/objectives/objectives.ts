import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { Objective } from "./objective.ts";
import { sft } from "./sft.ts";

/** What a training learns. */
export function objectiveOf(_config: TrainConfig): Objective {
  return sft;
}
