import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { dpo } from "./dpo.ts";
import { kto } from "./kto.ts";
import type { Objective } from "./objective.ts";
import { sft } from "./sft.ts";

export function objectiveOf({ objective }: Pick<TrainConfig, "objective">): Objective {
  switch (objective?.type) {
    case "dpo":
      return dpo(objective);
    case "kto":
      return kto(objective);
    case undefined:
      return sft;
  }
}
