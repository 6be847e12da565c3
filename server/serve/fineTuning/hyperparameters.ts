import { rulesOf } from "../../../protocol/objective.ts";
import { defaultsOf } from "../../../protocol/trainerOptions.ts";
import { type ApiError, invalid } from "../apiError.ts";
import { type Body, type NumberRange, fieldOf, recordOf } from "../fields.ts";
import { refuseFields } from "./refuseFields.ts";

export type MethodType = "supervised" | "dpo";

/** By OpenAI's names; `auto` is Kit's default. */
export type Hyperparameters = Record<string, number | "auto">;

export interface Method {
  type: MethodType;
  hyperparameters: Hyperparameters;
}

const AUTO = "auto";
const COUNT: NumberRange = {
  expected: `"${AUTO}" or a whole number from 1 to 1024`,
  accepts: (value) => Number.isInteger(value) && value >= 1 && value <= 1024,
};
const UP_TO_1000: NumberRange = {
  expected: `"${AUTO}" or a number above 0, up to 1000`,
  accepts: (value) => value > 0 && value <= 1000,
};
const POSITIVE: NumberRange = {
  expected: `"${AUTO}" or a number above 0`,
  accepts: (value) => value > 0 && Number.isFinite(value),
};
const RANGES: Record<MethodType, Record<string, NumberRange>> = {
  supervised: { batch_size: COUNT, learning_rate_multiplier: UP_TO_1000, n_epochs: COUNT },
  dpo: {
    batch_size: COUNT,
    beta: POSITIVE,
    learning_rate_multiplier: UP_TO_1000,
    n_epochs: COUNT,
  },
};

/**
 * Reads `method`, or the deprecated `hyperparameters` in its place.
 * @throws ApiError 400
 */
export function methodOf(body: Body): Method {
  const method = recordOf(body, "method");
  const deprecated = recordOf(body, "hyperparameters");
  if (!method) {
    return {
      type: "supervised",
      hyperparameters: valuesOf(deprecated ?? {}, "hyperparameters", "supervised"),
    };
  }
  if (deprecated && Object.keys(deprecated).length > 0) {
    throw invalid("hyperparameters", "Send hyperparameters in method only, not beside it.");
  }
  const type = fieldOf(method, "type");
  if (type !== "supervised" && type !== "dpo") throw unknownMethod(type);
  refuseFields(method, ["type", type], "method.");
  const options = recordOf(method, type, "method.") ?? {};
  const path = `method.${type}.`;
  refuseFields(options, ["hyperparameters"], path);
  const values = recordOf(options, "hyperparameters", path) ?? {};
  return { type, hyperparameters: valuesOf(values, `${path}hyperparameters`, type) };
}

function unknownMethod(type: unknown): ApiError {
  const advice =
    type === "reinforcement"
      ? "Kit has no reinforcement fine-tuning: send pairs of answers with the type dpo, or right answers with supervised."
      : "method.type must be supervised or dpo.";
  return invalid("method.type", advice);
}

function valuesOf(values: Body, path: string, type: MethodType): Hyperparameters {
  const ranges = RANGES[type];
  refuseFields(values, Object.keys(ranges), `${path}.`);
  const hyperparameters: Hyperparameters = {};
  for (const [name, range] of Object.entries(ranges)) {
    const value = fieldOf(values, name) ?? AUTO;
    const isNumber = typeof value === "number" && range.accepts(value);
    if (value !== AUTO && !isNumber) {
      throw invalid(`${path}.${name}`, `${path}.${name} must be ${range.expected}.`);
    }
    hyperparameters[name] = value;
  }
  return hyperparameters;
}

/** The learning rate that a multiplier multiplies. */
export function defaultRate(type: MethodType): number {
  const { learningRate } = defaultsOf("lora");
  return type === "dpo" ? (rulesOf({ type }).learningRate?.lora ?? learningRate) : learningRate;
}

/** A method as options of `createTrainer`. */
export function trainingOptions({ type, hyperparameters }: Method): Record<string, unknown> {
  const value = (name: string) => {
    const number = hyperparameters[name];
    return typeof number === "number" ? number : undefined;
  };
  const [multiplier, beta] = [value("learning_rate_multiplier"), value("beta")];
  return {
    batchSize: value("batch_size"),
    numTrainEpochs: value("n_epochs"),
    learningRate: multiplier && multiplier * defaultRate(type),
    objective: type === "dpo" ? { type, beta } : undefined,
  };
}

/** The method with the values that a started job uses. */
export function settledMethod(
  { type, hyperparameters }: Method,
  config: Record<string, unknown>,
): Method {
  const objective = config.objective as { beta?: number } | undefined;
  const usedValues: Record<string, unknown> = {
    batch_size: config.batchSize,
    beta: objective?.beta,
    learning_rate_multiplier: Number(config.learningRate) / defaultRate(type),
    n_epochs: config.numTrainEpochs,
  };
  const values = Object.entries(hyperparameters).map(([name, value]) => {
    const usedValue = usedValues[name];
    // A larger batch was reduced to the file's rows.
    const isUsed = (value === AUTO || name === "batch_size") && Number.isFinite(usedValue);
    return [name, isUsed ? (usedValue as number) : value] as const;
  });
  return { type, hyperparameters: Object.fromEntries(values) };
}
