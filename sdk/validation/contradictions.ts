import { datasetPaths } from "../../protocol/dataset.ts";
import type { Engine } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { EVAL_LOSS, isLogged } from "../../protocol/evaluation.ts";
import type { EvaluateOptions } from "../../protocol/metric.ts";
import { problemOfBatch, rulesOf } from "../../protocol/objective.ts";
import type { TrainingOptions, JobConfig } from "../../protocol/trainConfig.ts";
import type { JobArguments } from "../../protocol/trainerOptions.ts";
import { isUrl } from "../../protocol/url.ts";
import { mayHaveValue } from "../metrics/score.ts";

/** @throws KitError `OPTION_INVALID` for options that contradict each other */
export function refuseContradictions(
  trainingOptions: TrainingOptions,
  jobOptions: JobArguments,
  evaluate: EvaluateOptions | undefined,
): void {
  const { maxSteps, numTrainEpochs, evalDataset, evalSplit, evalSteps } = trainingOptions;
  const { loadBestModelAtEnd, earlyStoppingPatience, metricForBestModel } = jobOptions;
  const isEvaluated = evalDataset !== undefined || evalSplit !== undefined;
  if (maxSteps !== undefined && numTrainEpochs !== undefined) {
    throw invalid('set either "maxSteps" or "numTrainEpochs", not both.');
  }
  if (evalDataset !== undefined && evalSplit !== undefined) {
    throw invalid('set either "evalDataset" or "evalSplit", not both.');
  }
  if (evalSteps !== undefined && !isEvaluated) {
    throw invalid('"evalSteps" needs held-out rows. Add evalDataset or evalSplit.');
  }
  if (evaluate && !isEvaluated) {
    throw invalid('"evaluate" needs held-out rows. Add evalDataset or evalSplit.');
  }
  const url = evaluate && datasetPaths((evalDataset ?? trainingOptions.dataset).path).find(isUrl);
  if (url !== undefined) {
    throw invalid(
      `"evaluate" needs rows on this machine, but ${url} is a URL. Set "evalDataset" to local rows.`,
    );
  }
  const metrics = evaluate?.metrics ?? {};
  const logged = Object.keys(rulesOf(trainingOptions.objective).metrics);
  const taken = logged.find((name) => mayHaveValue(metrics, name));
  if (taken !== undefined) {
    throw invalid(`the objective already has a metric "${taken}". Rename the one in "evaluate".`);
  }
  if (
    !isLogged(metricForBestModel, trainingOptions.objective) &&
    !mayHaveValue(metrics, metricForBestModel)
  ) {
    const names = [EVAL_LOSS, ...logged, ...Object.keys(metrics)].join(", ");
    throw invalid(
      `"metricForBestModel" must be one of ${names}, but is ${JSON.stringify(metricForBestModel)}.`,
    );
  }
  if (loadBestModelAtEnd && !isEvaluated) {
    throw invalid('"loadBestModelAtEnd" needs held-out rows. Add evalDataset or evalSplit.');
  }
  if (earlyStoppingPatience !== undefined && !loadBestModelAtEnd) {
    throw invalid(
      '"earlyStoppingPatience" requires "loadBestModelAtEnd: true"; otherwise the result would be the last checkpoint, not the best.',
    );
  }
}

/** @throws KitError `OPTION_INVALID` for an objective that the engine doesn't train */
export function refuseObjective(
  { name, objectives = [] }: Engine,
  { objective, batchSize }: TrainingOptions,
): void {
  if (!objective || objective.type === "sft") return;
  if (!objectives.includes(objective.type)) {
    throw invalid(
      `the ${name} engine doesn't train the objective "${objective.type}". Remove engine to train it with the embedded one, or remove objective.`,
    );
  }
  const problem = batchSize && problemOfBatch(objective, batchSize);
  if (problem) throw invalid(problem);
}

/** @throws KitError `OPTION_INVALID` unless every checkpoint has a value of the metric */
export function refuseUnevenSaves({
  loadBestModelAtEnd,
  metricForBestModel,
  saveSteps,
  evalSteps,
  objective,
}: JobConfig): void {
  const isInLog = isLogged(metricForBestModel, objective);
  if (!loadBestModelAtEnd || !isInLog || saveSteps % evalSteps === 0) return;
  throw invalid(
    `with "loadBestModelAtEnd", "saveSteps" must be a multiple of "evalSteps" (${evalSteps}), so that every checkpoint has its ${metricForBestModel}, but is ${saveSteps}.`,
  );
}

function invalid(problem: string): KitError {
  return new KitError("OPTION_INVALID", `createTrainer: ${problem}`);
}
