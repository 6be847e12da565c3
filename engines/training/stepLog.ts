import { evalName } from "../../protocol/evaluation.ts";
import type { EventData, Measured } from "../../protocol/event.ts";
import { withDigits } from "../../protocol/format.ts";
import type { PendingSteps } from "../checkpoint/trainerState.ts";
import constants from "../constants.json" with { type: "json" };
import { type Mean, addMeans } from "../objectives/objective.ts";
import type { EvaluationResult } from "./step.ts";

type Log = EventData["training.log"];

/** Gathers steps until they are logged. */
export interface StepLog {
  add: (step: LoggedStep) => void;
  /**
   * The log of the steps since the previous one: the loss is their mean, as each metric is, the
   * gradient's norm the last step's.
   */
  log: (at: LogPlace) => Log;
  /** The steps since the previous log. */
  pending: () => PendingSteps;
  /** Does other work, whose time does not count for the speed. */
  withoutTiming: <T>(work: () => Promise<T>) => Promise<T>;
}

interface LoggedStep {
  loss: number;
  gradNorm: number;
  /** A count. */
  tokens: number;
  metrics: Record<string, Mean>;
}

interface LogPlace {
  step: number;
  learningRate: number;
  epoch: number;
  /** Set if the step was. */
  evaluated: EvaluationResult | undefined;
}

/**
 * @param pending of a training that goes on
 * @param now milliseconds, of a clock that never goes back
 */
export function createStepLog(
  pending: PendingSteps = { losses: [], metrics: {} },
  now: () => number = () => performance.now(),
): StepLog {
  let since = now();
  let losses = [...pending.losses];
  let metrics = structuredClone(pending.metrics);
  let tokens = 0;
  let gradNorm = 0;

  function add(step: LoggedStep) {
    losses.push(step.loss);
    addMeans(metrics, step.metrics);
    gradNorm = step.gradNorm;
    tokens += step.tokens;
  }

  async function withoutTiming<T>(work: () => Promise<T>): Promise<T> {
    const from = now();
    const made = await work();
    since += now() - from;
    return made;
  }

  function log({ step, learningRate, epoch, evaluated }: LogPlace) {
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

/** float32 holds no more digits. */
const DIGITS = constants.loggedDigits;

function rounded(value: number): Measured {
  return Number.isFinite(value) ? withDigits(value, DIGITS) : null;
}

/** The means, those of an evaluation as `evalName`; nothing without any. */
function metricsOf(
  trained: Record<string, Mean>,
  evaluated: Record<string, Mean>,
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
