import { type Evaluation, isLower } from "./evaluation.ts";
import type { Artifact, Measured } from "./event.ts";
import { isRecord } from "./isRecord.ts";
import { type LossEnds, NO_LOSSES, addLoss } from "./lossEnds.ts";
import type { Moment } from "./pace.ts";

/** What a job's events have come to so far; what they have not said yet is undefined. */
export interface Progress {
  /** Steps of the whole job. */
  steps?: number;
  startedAt?: number;
  /** The pace is measured from the first log on, because the first step also warms up. */
  first?: Moment;
  last?: Moment;
  /** Time of the last event. */
  at?: number;
  /** The last that is finite. */
  loss?: number;
  lossEnds: LossEnds;
  learningRate?: number;
  tokensPerSecond?: number;
  evalLoss?: number;
  best?: Evaluation;
  /** The last evaluation, finite or not. */
  evaluated?: { step: number; evalLoss: Measured };
  /** The last of each, by name. */
  metrics?: Record<string, number>;
  /** The newest artifact, or once the job has completed its result, and how good it is. */
  saved?: { artifact: Artifact; evalLoss?: Measured };
  /** A count, once the job has completed. */
  artifacts?: number;
}

export const NO_PROGRESS: Progress = { lossEnds: NO_LOSSES };

/** An event as a log has it: an older or newer Kit's may lack, or have, what this one's has not. */
interface ReadEvent {
  event: string;
  data: unknown;
  /** In ms, by any clock; NaN if nobody knows. */
  at: number;
}

/** Pure. */
export function advance(before: Progress, { event, data, at }: ReadEvent): Progress {
  const found = isRecord(data) ? data : {};
  const now = Number.isFinite(at) ? { ...before, at } : before;
  switch (event) {
    case "training.started":
      return started(now, found);
    case "training.log":
      return logged(now, found);
    case "checkpoint.saved":
      return isArtifact(found) ? { ...now, saved: rated(now, found) } : now;
    case "training.completed":
      return completed(now, found);
    default:
      return now;
  }
}

function started(now: Progress, found: Record<string, unknown>): Progress {
  const { maxSteps: steps } = numbersIn(found);
  const { step = NaN, evalLoss } = numbersIn(found.resumedBest);
  return {
    ...now,
    ...(now.at !== undefined && { startedAt: now.at }),
    ...(steps !== undefined && { steps }),
    ...(evalLoss !== undefined && { best: { step, evalLoss } }),
  };
}

function logged(now: Progress, found: Record<string, unknown>): Progress {
  const { step, loss, learningRate, tokensPerSecond, evalLoss } = numbersIn(found);
  const last = step === undefined || now.at === undefined ? undefined : { step, at: now.at };
  const metrics = { ...now.metrics, ...numbersIn(found.metrics) };
  const isEvaluated = step !== undefined && (evalLoss !== undefined || found.evalLoss === null);
  return {
    ...now,
    ...(last && { last, first: now.first ?? last }),
    ...(loss !== undefined && { loss, lossEnds: addLoss(now.lossEnds, loss) }),
    ...(learningRate !== undefined && { learningRate }),
    ...(tokensPerSecond !== undefined && { tokensPerSecond }),
    ...(evalLoss !== undefined && { evalLoss }),
    ...(isLower(evalLoss, now.best?.evalLoss) && { best: { step: step ?? NaN, evalLoss } }),
    ...(isEvaluated && { evaluated: { step, evalLoss: evalLoss ?? null } }),
    ...(Object.keys(metrics).length > 0 && { metrics }),
  };
}

function completed(now: Progress, found: Record<string, unknown>): Progress {
  if (!Array.isArray(found.artifacts)) return now;
  const listed: unknown[] = found.artifacts;
  const result = listed.at(-1);
  return {
    ...now,
    artifacts: listed.length + (numbersIn(found).omitted ?? 0),
    ...(isRecord(result) && isArtifact(result) && { saved: rated(now, result) }),
  };
}

/** With its evaluation, which comes before it. */
function rated({ best, evaluated, saved }: Progress, artifact: Artifact) {
  const evaluation = [best, evaluated].find((one) => one?.step === artifact.step);
  if (evaluation) return { artifact, evalLoss: evaluation.evalLoss };
  return saved?.artifact.step === artifact.step ? { ...saved, artifact } : { artifact };
}

function isArtifact(found: object): found is Artifact {
  return "step" in found && "path" in found && typeof found.path === "string";
}

/** Those that are finite, by name. */
export function numbersIn(found: unknown): Record<string, number> {
  const entries = Object.entries(isRecord(found) ? found : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );
}
