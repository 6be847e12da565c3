/** Right answers, as they are: supervised fine-tuning. */
export interface SftObjective {
  type: "sft";
}

/** The better of two answers: direct preference optimization (Rafailov et al. 2023). */
export interface DpoObjective {
  type: "dpo";
  /** How strongly the model is held to what it was before the training. Default 0.1. */
  beta: number;
  /** How many of the pairs are taken to be the wrong way round: a share below 0.5. Default 0. */
  labelSmoothing: number;
  /** Of the chosen answers' mean loss, as SFT has it, which is added to the pairs'. Default 0. */
  sftWeight: number;
}

/** Single answers that were judged good or bad: Kahneman-Tversky optimization (Ethayarajh et al. 2024). */
export interface KtoObjective {
  type: "kto";
  /** How strongly the model is held to what it was before the training. Default 0.1. */
  beta: number;
  /** What a good answer counts. Default 1. */
  desirableWeight: number;
  /** What a bad answer counts. Default 1. */
  undesirableWeight: number;
}

/** What a training learns, with every default filled in. */
export type ObjectiveConfig = SftObjective | DpoObjective | KtoObjective;

export type ObjectiveType = ObjectiveConfig["type"];

/** What a training learns, as the project asks for it. */
export type AskedObjective = SftObjective | Asked<DpoObjective> | Asked<KtoObjective>;

type Asked<Objective extends { type: ObjectiveType }> = Pick<Objective, "type"> &
  Partial<Objective>;

type ObjectiveMetrics = Readonly<Record<string, "higher" | "lower">>;

const REWARDS: ObjectiveMetrics = {
  rewardsChosen: "higher",
  rewardsRejected: "lower",
  rewardsMargins: "higher",
};

/** What each objective logs besides the loss, by TRL's names in camelCase, and which way each is better. */
export const OBJECTIVE_METRICS: Readonly<Record<ObjectiveType, ObjectiveMetrics>> = {
  sft: {},
  dpo: { ...REWARDS, rewardsAccuracies: "higher" },
  kto: { ...REWARDS, kl: "lower" },
};

/** What a training logs of held-out rows besides the loss, and which way each is better. */
export function metricsOf(objective: { type: ObjectiveType } | undefined): ObjectiveMetrics {
  return OBJECTIVE_METRICS[objective?.type ?? "sft"];
}
