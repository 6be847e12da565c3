import { objectiveOf } from "../../../engines/objectives/objectives.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { canonical, scratchFile } from "../embedded/scratch.ts";

const DPO = { type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 0 } as const;
const KTO = { type: "kto", beta: 0.1, desirableWeight: 1, undesirableWeight: 1.5 } as const;
const PAIRS = Array.from({ length: 12 }, (_, i) => ({
  prompt: `${i}?`,
  chosen: "yes".repeat(1 + (i % 3)),
  rejected: "no",
}));

const JUDGED = Array.from({ length: 12 }, (_, i) => ({
  prompt: `${i}?`,
  completion: i % 3 > 0 ? "yes".repeat(i % 3) : "no",
  label: i % 3 > 0,
}));

/** The rows of each objective, and its options. */
export function learns(type: "dpo" | "kto"): Partial<TrainConfig> {
  const [objective, rows] = type === "dpo" ? [DPO, PAIRS] : [KTO, JUDGED];
  const path = scratchFile(`${type}.jsonl`, canonical(rows, objectiveOf({ objective }).format));
  return { objective, dataset: { type: "jsonl", path } };
}
