/** Supervised fine-tuning on right answers. */
export interface SftObjective {
  type: "sft";
}

/** Direct preference optimization on pairs of answers (Rafailov et al. 2023). */
export interface DpoObjective {
  type: "dpo";
  /** Strength of the penalty for moving away from the starting model. Default 0.1. */
  beta: number;
  /** Assumed share of swapped pairs, below 0.5. Default 0. */
  labelSmoothing: number;
  /** Weight of the chosen answers' SFT loss, added to the pairs' loss. Default 0. */
  sftWeight: number;
}

/** Kahneman-Tversky optimization on desirable and undesirable answers (Ethayarajh et al. 2024). */
export interface KtoObjective {
  type: "kto";
  /** Strength of the penalty for moving away from the starting model. Default 0.1. */
  beta: number;
  /** Weight of desirable answers. Default 1. */
  desirableWeight: number;
  /** Weight of undesirable answers. Default 1. */
  undesirableWeight: number;
}

/** A training objective, with every default filled in. */
export type ObjectiveConfig = SftObjective | DpoObjective | KtoObjective;

export type ObjectiveType = ObjectiveConfig["type"];

/** A training objective, as the project sets it. */
export type ObjectiveOptions = WithDefaults<ObjectiveConfig>;

type WithDefaults<Objective extends ObjectiveConfig> = Objective extends unknown
  ? Pick<Objective, "type"> & Partial<Objective>
  : never;

/** Which value of a metric is better. */
export type Better = "higher" | "lower";

type ObjectiveMetrics = Readonly<Record<string, Better>>;

/** An objective's properties, other than its loss. */
interface ObjectiveRules<Config> {
  /** Defaults of its options. */
  defaults: Config;
  /** Default learning rates, for a whole model and an adapter. */
  learningRate?: { whole: number; lora: number };
  /** Minimum rows that it compares within a batch. Default: 1. */
  minRows?: number;
  /** Which rows have a right answer, in words for an error message. */
  answeredRows: string;
  /** Its metrics besides the loss, by TRL's names in camelCase, and which way is better. */
  metrics: ObjectiveMetrics;
}

const REWARDS: ObjectiveMetrics = {
  rewardsChosen: "higher",
  rewardsRejected: "lower",
  rewardsMargins: "higher",
};

const ANSWERED_ROWS = "rows of {prompt, completion} or {messages}";
/** TRL's default learning rate, and ten times as much for an adapter. The defaults below are also TRL's. */
const PREFERENCE_RATES = { whole: 1e-6, lora: 1e-5 };

const OBJECTIVES: {
  [Type in ObjectiveType]: ObjectiveRules<Extract<ObjectiveConfig, { type: Type }>>;
} = {
  sft: { defaults: { type: "sft" }, answeredRows: ANSWERED_ROWS, metrics: {} },
  dpo: {
    defaults: { type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 0 },
    learningRate: PREFERENCE_RATES,
    answeredRows: ANSWERED_ROWS,
    metrics: { ...REWARDS, rewardsAccuracies: "higher" },
  },
  kto: {
    defaults: { type: "kto", beta: 0.1, desirableWeight: 1, undesirableWeight: 1 },
    learningRate: PREFERENCE_RATES,
    minRows: 2,
    answeredRows: "rows with the label true",
    metrics: { ...REWARDS, kl: "lower" },
  },
};

export const OBJECTIVE_TYPES = Object.keys(OBJECTIVES) as ObjectiveType[];

/** An objective's rules; those of `sft` by default. */
export function rulesOf(
  objective: { type: ObjectiveType } | undefined,
): ObjectiveRules<ObjectiveConfig> {
  return OBJECTIVES[objective?.type ?? "sft"];
}

/** Which value of an objective's metric is better. Objectives that share a metric agree. */
export function betterOf(metric: string): Better | undefined {
  const rules = Object.values(OBJECTIVES).find(({ metrics }) => Object.hasOwn(metrics, metric));
  return rules?.metrics[metric];
}

/** Why a batch is too small for an objective, if it is. @param workers number of workers that share it */
export function problemOfBatch(
  objective: { type: ObjectiveType } | undefined,
  batchSize: number,
  workers = 1,
): string | undefined {
  const { minRows = 1 } = rulesOf(objective);
  if (batchSize >= minRows * workers) return undefined;
  const batch = workers === 1 ? "a batch" : "a worker's batch";
  return `"batchSize" must be at least ${minRows * workers}, because the objective "${objective?.type}" compares the answers of ${batch} with each other.`;
}
