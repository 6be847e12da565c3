import { evalName } from "../../protocol/evaluation.ts";
import type { EventData, Measured } from "../../protocol/event.ts";
import { withDigits } from "../../protocol/format.ts";
import { asleepMs } from "../../protocol/sleep.ts";
import type { PendingSteps } from "../checkpoint/trainerState.ts";
import constants from "../constants.json" with { type: "json" };
import { type SumAndCount, addMeans } from "../objectives/objective.ts";
import type { EvaluationResult } from "./step.ts";

type Log = EventData["training.log"];

/** Collects steps until they are logged. */
export interface StepLog {
  add: (step: LoggedStep) => void;
  /** Mean loss and metrics since the last log, and the last gradient norm. */
  log: (at: LogContext) => Log;
  /** Losses and metrics since the last log. */
  pending: () => PendingSteps;
  /** Runs other work and excludes its time from the speed. */
  withoutTiming: <T>(work: () => Promise<T>) => Promise<T>;
}

interface LoggedStep {
  loss: number;
  gradNorm: number;
  tokens: number;
  metrics: Record<string, SumAndCount>;
}

interface LogContext {
  step: number;
  learningRate: number;
  epoch: number;
  /** Undefined if the step wasn't evaluated. */
  evaluated: EvaluationResult | undefined;
}

/** @param pending of a resumed run @param now a monotonic clock, in ms */
export function createStepLog(
  pending: PendingSteps = { losses: [], metrics: {} },
  now: () => number = () => performance.now(),
): StepLog {
  let since = now();
  let lastStep = { at: since, ms: Infinity };
  let losses = [...pending.losses];
  let metrics = structuredClone(pending.metrics);
  let tokens = 0;
  let gradNorm = 0;

  function add(step: LoggedStep) {
    losses.push(step.loss);
    addMeans(metrics, step.metrics);
    gradNorm = step.gradNorm;
    tokens += step.tokens;
    const at = now();
    const elapsed = at - lastStep.at;
    since += asleepMs(elapsed, lastStep.ms);
    lastStep = { at, ms: elapsed };
  }

  async function withoutTiming<T>(work: () => Promise<T>): Promise<T> {
    const from = now();
    const result = await work();
    const elapsed = now() - from;
    since += elapsed;
    lastStep.at += elapsed;
    return result;
  }

  function log({ step, learningRate, epoch, evaluated }: LogContext) {
    const seconds = (now() - since) / 1000;
    const loss = losses.reduce((sum, value) => sum + value, 0) / losses.length;
    const entry: Log = {
      step,
      loss: rounded(loss),
      ...(evaluated && { evalLoss: rounded(evaluated.evalLoss) }),
      learningRate: rounded(learningRate) ?? 0,
      gradNorm: rounded(gradNorm),
      epoch: rounded(epoch) ?? 0,
      tokensPerSecond: Math.round(tokens / Math.max(seconds, 0.001)),
      ...metricsOf(metrics, evaluated?.metrics ?? {}),
    };
    since = now();
    losses = [];
    metrics = {};
    tokens = 0;
    return entry;
  }

  return { add, log, pending: () => ({ losses, metrics }), withoutTiming };
}

/** As many significant digits as float32 has. */
const DIGITS = constants.loggedDigits;

function rounded(value: number): Measured {
  return Number.isFinite(value) ? withDigits(value, DIGITS) : null;
}

/** Means of the metrics, with an evaluation's named by `evalName`; empty without any. */
function metricsOf(
  trained: Record<string, SumAndCount>,
  evaluated: Record<string, SumAndCount>,
): Pick<Log, "metrics"> {
  const means = [
    ...Object.entries(trained),
    ...Object.entries(evaluated).map(([name, mean]) => [evalName(name), mean] as const),
  ];
  const known = means.filter(([, { count }]) => count > 0);
  if (known.length === 0) return {};
  const metrics = known.map(([name, { sum, count }]) => [name, rounded(sum / count)] as const);
  return { metrics: Object.fromEntries(metrics) };
}
