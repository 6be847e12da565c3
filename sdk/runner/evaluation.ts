import type { DatasetRow } from "../../protocol/dataset.ts";
import type { Engine, LoadedModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { EventData } from "../../protocol/event.ts";
import { formatCount, formatDuration } from "../../protocol/format.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { EvaluateConfig, JobConfig } from "../../protocol/trainConfig.ts";
import { heldOutQuestions, withStartingModel } from "../engine.ts";
import { askRows, questionOf } from "../metrics/ask.ts";
import { scoreAnswers } from "../metrics/score.ts";

export type Evaluated = EventData["checkpoint.evaluated"];

/** Asks a job's model for held-out rows, and scores the answers. */
export interface Evaluation {
  /** The model before the training. */
  ofStart: () => Promise<Evaluated>;
  /** A checkpoint. @param model answers from it */
  of: (step: number, model: Pick<LoadedModel, "infer">) => Promise<Evaluated>;
  /** A note if asking took much of the time; undefined otherwise. @param seconds of the whole training */
  costNote: (seconds: number) => string | undefined;
}

interface EvaluationOptions {
  /** With the datasets as engines read them. */
  config: JobConfig;
  evaluate: EvaluateConfig;
  metrics: Metrics;
  engine: Pick<Engine, "load">;
  signal: AbortSignal;
  onNote: (text: string) => void;
}

/** Above this share of a training's time, Kit says how long asking took. */
const MUCH = 0.1;
/** In seconds; shorter isn't worth a note. */
const LONG = 1;

/** @throws KitError `DATASET_INVALID` when no held-out row has an answer to compare with */
export async function createEvaluation(options: EvaluationOptions): Promise<Evaluation> {
  const { config, evaluate, metrics, engine, signal, onNote } = options;
  const isAsked = (row: DatasetRow) => questionOf(row) !== undefined;
  const { rows, of } = await heldOutQuestions(config, {
    ...{ most: evaluate.rows, isAsked, signal, onNote },
  });
  if (rows.length === 0) {
    throw new KitError(
      "DATASET_INVALID",
      `"evaluate" finds no held-out row with an answer in words. Hold out rows of {prompt, completion} or {messages}, or remove evaluate.`,
    );
  }
  const { maxTokens, temperature } = evaluate;
  const lower = !config.greaterIsBetter && config.metricForBestModel in metrics;
  let seconds = 0;

  async function evaluated(step: number, model: Pick<LoadedModel, "infer">): Promise<Evaluated> {
    const startedAt = performance.now();
    const asking = { maxTokens, temperature, seed: config.seed, signal };
    const answers = await askRows(model, rows, asking);
    const { figures } = await scoreAnswers(metrics, answers);
    const took = (performance.now() - startedAt) / 1000;
    seconds += took;
    return {
      ...{ step, metrics: figures, rows: answers.length, seconds: Number(took.toPrecision(3)) },
      ...(lower && { lowerIsBetter: [config.metricForBestModel] }),
    };
  }

  return {
    async ofStart() {
      const some = rows.length < of ? ` of ${formatCount(of)}` : "";
      onNote(
        `asking the model for ${formatCount(rows.length)}${some} held-out rows before it is trained`,
      );
      return withStartingModel(config, { signal, onNote }, async (directory) => {
        const model = await engine.load(directory, { signal, onNote });
        try {
          return await evaluated(0, model);
        } finally {
          await model.close();
        }
      });
    },
    of: evaluated,
    costNote(all) {
      if (seconds < LONG || seconds <= MUCH * all) return undefined;
      return `asking the model for held-out rows took ${formatDuration(seconds)}; to ask less, lower evaluate.rows or raise saveSteps`;
    },
  };
}
