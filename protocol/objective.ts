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
export type ObjectiveOptions = WithDefaults<ObjectiveConfig>;

type WithDefaults<Objective extends ObjectiveConfig> = Objective extends unknown
  ? Pick<Objective, "type"> & Partial<Objective>
  : never;

type ObjectiveMetrics = Readonly<Record<string, "higher" | "lower">>;

/** What an objective says for itself wherever Kit asks, besides how it is trained. */
interface ObjectiveRules<Config> {
  /** Those of its options. */
  defaults: Config;
  /** In place of the usual one, of a whole model or an adapter. */
  learningRate?: { whole: number; lora: number };
  /** Rows of a batch that it compares with each other. Default: 1. */
  minRows?: number;
  /** Its held-out rows that have a right answer, for people. */
  answered: string;
  /** What it logs besides the loss, by TRL's names in camelCase, and which way each is better. */
  metrics: ObjectiveMetrics;
}

const REWARDS: ObjectiveMetrics = {
  rewardsChosen: "higher",
  rewardsRejected: "lower",
  rewardsMargins: "higher",
};

const ANSWERED_ROWS = "rows of {prompt, completion} or {messages}";
/** TRL's, as are the defaults below; ten times that for an adapter. */
const PREFERENCE_RATES = { whole: 1e-6, lora: 1e-5 };

const OBJECTIVES: {
  [Type in ObjectiveType]: ObjectiveRules<Extract<ObjectiveConfig, { type: Type }>>;
} = {
  sft: { defaults: { type: "sft" }, answered: ANSWERED_ROWS, metrics: {} },
  dpo: {
    defaults: { type: "dpo", beta: 0.1, labelSmoothing: 0, sftWeight: 0 },
    learningRate: PREFERENCE_RATES,
    answered: ANSWERED_ROWS,
    metrics: { ...REWARDS, rewardsAccuracies: "higher" },
  },
  kto: {
    defaults: { type: "kto", beta: 0.1, desirableWeight: 1, undesirableWeight: 1 },
    learningRate: PREFERENCE_RATES,
    minRows: 2,
    answered: "rows with the label true",
    metrics: { ...REWARDS, kl: "lower" },
  },
};

export const OBJECTIVE_TYPES = Object.keys(OBJECTIVES) as ObjectiveType[];

/** Those of the objective that a training has; without one, those of `sft`. */
export function rulesOf(
  objective: { type: ObjectiveType } | undefined,
): ObjectiveRules<ObjectiveConfig> {
  return OBJECTIVES[objective?.type ?? "sft"];
}

/** Why a batch is too small for an objective; undefined for one that is not. @param workers that share it */
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
