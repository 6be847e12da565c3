import type { TrainConfig } from "../../protocol/trainConfig.ts";
import type { Objective } from "./objective.ts";
import { sft } from "./sft.ts";

/** By the names that a config has for them. */
const OBJECTIVES = { sft } satisfies Record<string, Objective>;

interface Asked {
  /** Default: right answers. */
  objective?: { type: keyof typeof OBJECTIVES };
}

/** What a training learns. */
export function objectiveOf({ objective }: TrainConfig & Asked): Objective {
  return OBJECTIVES[objective?.type ?? "sft"];
}
