import type { EventData, Measured } from "../../../protocol/event.ts";

type Log = EventData["training.log"];

/** Gathers steps until they are logged. */
export interface StepLog {
  add: (step: { loss: number; gradNorm: number; tokens: number }) => void;
  /**
   * The log of the steps since the previous one: the loss is their mean, the gradient's norm the
   * last step's.
   */
  log: (at: LogPlace) => Log;
  /** The losses of the steps since the previous log. */
  pending: () => number[];
  /** Does other work, whose time does not count for the speed. */
  withoutTiming: <T>(work: () => T) => T;
}

interface LogPlace {
  step: number;
  learningRate: number;
  epoch: number;
  /** Set if the step was evaluated. */
  evalLoss: number | undefined;
}

/**
 * @param pending losses of a training that goes on
 * @param now milliseconds, of a clock that never goes back
 */
export function createStepLog(
  pending: readonly number[] = [],
  now: () => number = () => performance.now(),
): StepLog {
  let since = now();
  let losses = [...pending];
  let tokens = 0;
  let gradNorm = 0;

  function add(step: { loss: number; gradNorm: number; tokens: number }) {
    losses.push(step.loss);
    gradNorm = step.gradNorm;
    tokens += step.tokens;
  }

  function withoutTiming<T>(work: () => T): T {
    const from = now();
    const made = work();
    since += now() - from;
    return made;
  }

  function log({ step, learningRate, epoch, evalLoss }: LogPlace) {
    const seconds = (now() - since) / 1000;
    const loss = losses.reduce((sum, value) => sum + value, 0) / losses.length;
    const entry: Log = {
      step,
      loss: rounded(loss),
      ...(evalLoss !== undefined && { evalLoss: rounded(evalLoss) }),
      learningRate: rounded(learningRate) ?? 0,
      gradNorm: rounded(gradNorm),
      epoch: rounded(epoch) ?? 0,
      tokensPerSecond: Math.round(tokens / Math.max(seconds, 0.001)),
    };
    since = now();
    losses = [];
    tokens = 0;
    return entry;
  }

  return { add, log, pending: () => losses, withoutTiming };
}

/** float32 holds no more digits. */
const DIGITS = 7;

function rounded(value: number): Measured {
  return Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : null;
}
