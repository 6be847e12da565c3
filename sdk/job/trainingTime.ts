import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../protocol/engine.ts";
import type { EventData } from "../../protocol/event.ts";
import { setAwakeTimeout } from "../../protocol/sleep.ts";
import type { EvaluateConfig, JobConfig } from "../../protocol/trainConfig.ts";
import { chooseHeldOutRows, withInitialModel } from "../engine.ts";
import { MAX_CONCURRENT, answerRows, isEvaluable } from "../metrics/answerRows.ts";
import { closeModel } from "../models/engineModel.ts";
import { runEngine } from "./runEngine.ts";

/** How long a run takes on this machine, in seconds. */
export interface TrainingTime {
  seconds: number;
  /** Upper bound of the time for evaluation: the loss on held-out rows, and `evaluate`. */
  evaluatingSeconds: number;
}

interface TimedTraining {
  engine: Engine;
  /** With the datasets as engines read them. */
  config: JobConfig;
  started: EventData["training.started"];
  /** Absolute path of a temporary folder. */
  directory: string;
  signal: AbortSignal;
}

/** The first step warms up; the second shows the speed. */
const TIMED_STEPS = 2;
/** Time limit of both steps. */
const MAX_MS = 60_000;
const UNREACHABLE_STEP = 1_000_000_000;
/** Number of generated tokens to time. */
const TIMED_TOKENS = 16;
/** The backward pass takes twice as long. */
const FORWARD_SHARE = 1 / 3;

/** Times two training steps and a few answers of the initial model; keeps nothing. */
export async function measureTime(timed: TimedTraining): Promise<TrainingTime> {
  const { config, started } = timed;
  const { tokens, epochs, rows, evalRows = 0, maxSteps } = started;
  if (tokens === undefined || epochs === undefined)
    throw new Error("the engine does not count its tokens");
  const secondsPerToken = 1 / (await speedOf(timed));
  const passes = evalRows > 0 ? Math.ceil(maxSteps / config.evalSteps) : 0;
  const evalTokens = (passes * evalRows * tokens) / rows;
  const evaluations = config.evaluate ? 1 + Math.ceil(maxSteps / config.saveSteps) : 0;
  const evaluatingSeconds =
    evalTokens * secondsPerToken * FORWARD_SHARE +
    (config.evaluate ? evaluations * (await secondsToEvaluate(timed, config.evaluate)) : 0);
  return { seconds: tokens * epochs * secondsPerToken + evaluatingSeconds, evaluatingSeconds };
}

/** Training speed in tokens per second. */
async function speedOf({ engine, config, directory, signal }: TimedTraining): Promise<number> {
  const trainingEnded = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let speed = 0;
  const folder = join(directory, "timed");
  mkdirSync(folder);
  try {
    await runEngine(engine, {
      config: { ...config, saveSteps: UNREACHABLE_STEP, evalSteps: UNREACHABLE_STEP },
      directory: folder,
      signal,
      trainingEnded,
      onEvent({ event, data }) {
        if (event === "training.started")
          timer = setAwakeTimeout(() => trainingEnded.abort(), MAX_MS);
        if (event !== "training.log") return false;
        speed = data.tokensPerSecond ?? 0;
        return data.step >= TIMED_STEPS;
      },
      onError: (error) => {
        throw error;
      },
    });
  } finally {
    clearTimeout(timer);
  }
  if (speed > 0) return speed;
  throw new Error(`its first step takes longer than ${MAX_MS / 1000} s`);
}

/** Upper bound for one evaluation, as if all answers were as long as allowed. */
async function secondsToEvaluate(
  { engine, config, signal }: TimedTraining,
  { rows: maxRows, maxTokens, temperature }: EvaluateConfig,
): Promise<number> {
  const found = await chooseHeldOutRows(config, { maxRows, isEvaluable, signal });
  const sample = found.rows.slice(0, MAX_CONCURRENT);
  if (sample.length === 0) return 0;
  const limit = maxTokens ?? found.maxTokens;
  const quantize = config.lora?.baseType;
  return withInitialModel(config, { signal }, async (directory) => {
    const model = await engine.load(directory, { signal, ...(quantize && { quantize }) });
    const secondsOf = async (tokens: number) => {
      const startedAt = performance.now();
      const options = { maxTokens: tokens, temperature, seed: config.seed, signal };
      await answerRows(model, sample, options);
      return (performance.now() - startedAt) / 1000;
    };
    try {
      const prefill = await secondsOf(1);
      // The prompt is cached now.
      const minimum = await secondsOf(1);
      const perToken = Math.max(0, (await secondsOf(1 + TIMED_TOKENS)) - minimum) / TIMED_TOKENS;
      return (found.rows.length / sample.length) * (prefill + perToken * limit);
    } finally {
      await closeModel(model, engine.name);
    }
  });
}
