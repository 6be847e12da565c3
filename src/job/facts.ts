import { formatCount, formatDuration, formatNumber } from "../../protocol/format.ts";
import { type JobStatus, isFinal } from "../../protocol/job.ts";
import { type LossEnds, RISE_ADVICE, risenFrom } from "../../protocol/lossEnds.ts";
import { type Progress, secondsLeft } from "../../protocol/progress.ts";

/** A fact about a job in words; the value is a dash while it is unknown. */
export type Fact = [name: string, value: string];

const UNKNOWN = "–";

/**
 * The same facts in the same places, from a job's first event to its last, then the metrics that its
 * logs have. Pure.
 * @param sinceMs how long ago the last event came
 */
export function factsOf(progress: Progress, status: JobStatus | undefined, sinceMs = 0): Fact[] {
  const { steps, startedAt, at, first, last, metrics = {}, evaluated = {}, evaluating } = progress;
  const isOver = status !== undefined && isFinal(status);
  const isKnown = startedAt !== undefined && at !== undefined;
  const elapsed = isKnown ? (at - startedAt + (isOver ? 0 : sinceMs)) / 1000 : undefined;
  const left = isOver ? undefined : secondsLeft(first, last, steps);
  const best = say(progress.best?.evalLoss, formatNumber);
  const facts: Fact[] = [
    ["step", say(last?.step, (step) => share(step, steps))],
    ["elapsed", say(elapsed, formatDuration)],
    ["time left", say(left, formatDuration)],
    ["tokens a second", say(progress.tokensPerSecond, (speed) => formatCount(Math.round(speed)))],
    ["learning rate", say(progress.learningRate, formatNumber)],
    ["evalLoss", say(progress.evalLoss, (loss) => `${formatNumber(loss)}, best ${best}`)],
    ...Object.entries(metrics).map(([name, value]): Fact => [name, formatNumber(value)]),
    ...Object.entries(evaluated).map(([name, { now, before, best }]): Fact => {
      const [shown, was, most] = [now, before, best].map((one) => say(one, formatNumber));
      return [name, `${shown}, before ${was}, best ${most}`];
    }),
  ];
  if (evaluating) {
    const { answered, rows, secondsLeft: more } = evaluating;
    const ending = more === undefined ? "" : `, ${formatDuration(more)} left`;
    const isAsking = !isOver && answered < rows;
    facts.push(["asking held-out rows", isAsking ? share(answered, rows) + ending : UNKNOWN]);
  }
  return facts;
}

/** As `31 of 100`. */
function share(count: number, all: number | undefined): string {
  return `${formatCount(count)} of ${say(all, formatCount)}`;
}

function say<T>(value: T | undefined, inWords: (value: T) => string): string {
  return value === undefined ? UNKNOWN : inWords(value);
}

/** What to try after a training whose loss ended above where it began; empty for any other. Pure. */
export function adviceOn(losses: LossEnds): string {
  const first = risenFrom(losses);
  const last = losses.last.at(-1);
  if (first === undefined || last === undefined) return "";
  const [began, ended] = [first, last].map(formatNumber);
  const advice = RISE_ADVICE.replace(/^t/, "T");
  return `The loss ended at ${ended}, above the ${began} where it began. ${advice}.`;
}
