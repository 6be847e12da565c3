import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { Objective } from "./objective.ts";
import { sft } from "./sft.ts";

/** What a training learns. */
export function objectiveOf({ objective }: Pick<TrainConfig, "objective">): Objective {
  if (objective) throw new Error(`No engine offers ${objective.type}.`);
  return sft;
}
