import { resolve } from "node:path";
import { identityOf, identityOfInitialModel, openAnswerCache } from "../../jobs/answerCache.ts";
import type { EngineModel } from "../../protocol/engine.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { type EventData, EVALUATING } from "../../protocol/event.ts";
import { formatCount, formatDuration, withDigits } from "../../protocol/format.ts";
import type { Metrics } from "../../protocol/metric.ts";
import { rulesOf } from "../../protocol/objective.ts";
import type { EvaluateConfig, JobConfig } from "../../protocol/trainConfig.ts";
import { createDefaultEngine, chooseHeldOutRows, withInitialModel } from "../engine.ts";
import { createAnswerProgress } from "../metrics/answerProgress.ts";
import { answerRows, isEvaluable } from "../metrics/answerRows.ts";
import { scoreAnswers } from "../metrics/score.ts";
import { lazyModel } from "../models/engineModel.ts";
import { lowerIsBetter } from "./checkpointScore.ts";
import type { Run } from "./run.ts";

export type Evaluated = EventData["checkpoint.evaluated"];

/** Scores a job's model on held-out rows. */
export interface Evaluation {
  /** Number of rows. */
  rows: number;
  /** Progress as `31 of 100, 1m 20s left`; empty before the first answer. */
  progress: () => string;
  /** Evaluates the model before training. */
  evaluateInitialModel: () => Promise<Evaluated>;
  /** Evaluates a checkpoint. @param model answers from it */
  evaluateCheckpoint: (
    step: number,
    directory: string,
    model: AnsweringModel,
  ) => Promise<Evaluated>;
  /** A note if evaluation took much of the time; undefined otherwise. */
  costNote: () => string | undefined;
}

type AnsweringModel = Pick<EngineModel, "infer">;

/** Time between two progress notes before training. */
const NOTE_MS = 10_000;
/** Share of a run's time above which evaluation is worth a note. */
const NOTABLE_SHARE = 0.1;
/** Shortest evaluation worth a note, in seconds. */
const NOTABLE_S = 1;

/**
 * @param config with the datasets as engines read them
 * @throws KitError `DATASET_INVALID` when no held-out row has an answer to compare with
 */
export async function createEvaluation(
  { owned, engine, signal, callbackLimitMs, observer: { onNote }, record }: Run,
  config: JobConfig,
  evaluate: EvaluateConfig,
  metrics: Metrics,
): Promise<Evaluation> {
  const { baseType } = config.lora ?? {};
  const beganAt = performance.now();
  const found = await chooseHeldOutRows(config, {
    maxRows: evaluate.rows,
    isEvaluable,
    signal,
    onNote,
  });
  const { rows, total, skipped, endOf } = found;
  if (rows.length === 0) {
    throw new KitError(
      "DATASET_INVALID",
      `No held-out row has a text answer to compare with. Hold out ${rulesOf(config.objective).answeredRows}, or remove evaluate.`,
    );
  }
  const { maxTokens = found.maxTokens, temperature } = evaluate;
  let evaluatedStep = 0;
  const progress = createAnswerProgress(rows.length, (report) =>
    record({ event: EVALUATING, data: { ...report, step: evaluatedStep } }),
  );
  const lower = lowerIsBetter(config);
  let seconds = 0;
  const noted = new Set<string>();
  const noteOnce = (text: string) => {
    if (!noted.has(text)) onNote(`warning: ${text}`);
    noted.add(text);
  };

  async function scoreModel(
    step: number,
    identity: string,
    model: AnsweringModel,
  ): Promise<Evaluated> {
    const startedAt = performance.now();
    evaluatedStep = step;
    progress.begin();
    const answers = await answerRows(model, rows, {
      maxTokens,
      temperature,
      seed: config.seed,
      endOf,
      signal,
      onNote: noteOnce,
      // Shared with `kit eval`.
      cache: openAnswerCache(resolve(owned.directory, "../../.."), identity, noteOnce),
      onAnswer: progress.show,
    });
    const limitMs = callbackLimitMs;
    const { values } = await scoreAnswers(metrics, answers, { signal, limitMs, onNote });
    const evaluationSeconds = (performance.now() - startedAt) / 1000;
    seconds += evaluationSeconds;
    return {
      step,
      metrics: values,
      rows: answers.length,
      seconds: withDigits(evaluationSeconds, 3),
      ...(lower.length > 0 && { lowerIsBetter: lower }),
    };
  }

  /** Falls back to the embedded engine, because remote training needs no local Python. */
  async function loadInitialModel(directory: string): Promise<EngineModel> {
    const options = { signal, onNote, ...(baseType && { quantize: baseType }) };
    try {
      return await engine.load(directory, options);
    } catch (error) {
      if (!engine.remote || !isKitError(error) || !error.code.startsWith("PYTHON_")) throw error;
      onNote(`the embedded engine evaluates the starting model: ${error.message}`);
      return createDefaultEngine().load(directory, { signal, onNote });
    }
  }

  async function evaluateFolder(directory: string): Promise<Evaluated> {
    const model = lazyModel(engine.name, () => loadInitialModel(directory), onNote);
    try {
      return await scoreModel(0, identityOfInitialModel(config, directory), model);
    } finally {
      await model.close();
    }
  }

  return {
    rows: rows.length,
    progress: progress.text,
    async evaluateInitialModel() {
      const ofTotal = rows.length < total ? ` of ${formatCount(total)}` : "";
      const skippedRows =
        skipped > 0 ? `; ${formatCount(skipped)} more have no text answer to compare with` : "";
      onNote(
        `evaluating the starting model on ${formatCount(rows.length)}${ofTotal} held-out rows${skippedRows}`,
      );
      const timer = setInterval(() => {
        if (progress.text() !== "") onNote(`evaluated ${progress.text()}`);
      }, NOTE_MS).unref();
      try {
        return await withInitialModel(config, { signal, onNote }, evaluateFolder);
      } finally {
        clearInterval(timer);
      }
    },
    evaluateCheckpoint: (step, directory, model) => scoreModel(step, identityOf(directory), model),
    costNote() {
      const runSeconds = (performance.now() - beganAt) / 1000;
      if (seconds < NOTABLE_S || seconds <= NOTABLE_SHARE * runSeconds) return undefined;
      return `evaluation took ${formatDuration(seconds)}; to shorten it, lower evaluate.rows or raise saveSteps`;
    },
  };
}
