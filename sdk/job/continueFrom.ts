import { dirname, join } from "node:path";
import { checkpointSteps, copyArtifact } from "../../jobs/artifactFiles.ts";
import { haveSameHeldOutRows, haveSameRows, readJobStart } from "../../jobs/jobStart.ts";
import { type MetricEvent, readEvaluations } from "../../jobs/metricEvents.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { assertUndamaged } from "../../jobs/undamagedCheckpoint.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import { cannotWrite, messageOf } from "../../protocol/error.ts";
import { type Evaluation, bestOf, heldOutValues, isLogged } from "../../protocol/evaluation.ts";
import { type Artifact, type EventData, EVALUATED } from "../../protocol/event.ts";
import { logsForHistories } from "../../protocol/history.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { bestScore, createScorer, lowerIsBetter } from "./checkpointScore.ts";
import { asWritten } from "./config.ts";
import { refusePast } from "./resume.ts";

type Started = EventData["training.started"];

/** State that a new job takes over from the one that it continues. */
export interface Continuation {
  /** Fields to add to `training.started`. */
  started: Pick<Started, "resumedFrom" | "resumedStep" | "resumedBest" | "resumedEvaluations">;
  /** Evaluations up to the checkpoint, in order, if they were on the same rows. */
  evaluations: MetricEvent[];
}

/**
 * Compares the rows of both jobs, and notes what differs.
 * @throws KitError `CANNOT_RESUME` if training would end before the checkpoint's step
 */
export function continueFrom(
  from: ResumePoint,
  config: JobConfig,
  started: Started,
  note: (text: string) => void,
): Continuation {
  const { jobId, directory, step } = from;
  refusePast(from, started.maxSteps);
  const before = readJobStart(directory);
  const now = { config: asWritten(config), started: { ...started } };
  if (!haveSameRows(before, now)) {
    note(
      `warning: the dataset changed since job ${jobId}; losses will differ from an uninterrupted run`,
    );
  }
  let evaluations = readEvaluations(dirname(directory), jobId, step).map((evaluation) =>
    withDirections(evaluation, config),
  );
  if (evaluations.length > 0 && !haveSameHeldOutRows(before, now)) {
    evaluations = [];
    note(
      `warning: the held-out rows changed since job ${jobId}; its evaluations don't count towards the best`,
    );
  } else {
    const steps = unscoredSteps(from, config, evaluations);
    const unscored = steps.filter((each) => each < started.maxSteps);
    if (unscored.length > 0) note(`warning: ${notEvaluated(unscored, jobId)}`);
  }
  if (step === started.maxSteps) {
    note(`job ${jobId} had trained all ${step} steps; only completing it`);
  }
  const logs = evaluations.flatMap(({ event, data }) => (event === "training.log" ? data : []));
  const resumedBest = bestOf(logs.flatMap(evaluationIn));
  const resumed = { resumedFrom: jobId, resumedStep: step };
  const measured = resumedBest && { resumedBest, resumedEvaluations: resumedEvaluations(logs) };
  return { started: { ...resumed, ...measured }, evaluations };
}

/** Sets an evaluation's metric directions by this job's options. */
function withDirections(evaluation: MetricEvent, config: JobConfig): MetricEvent {
  if (evaluation.event !== EVALUATED) return evaluation;
  const { lowerIsBetter: _, ...data } = evaluation.data;
  const lower = lowerIsBetter(config);
  return {
    event: EVALUATED,
    data: { ...data, ...(lower.length > 0 && { lowerIsBetter: lower }) },
  };
}

/** Steps of checkpoints without a value of the metric that compares them. */
function unscoredSteps(
  { directory, step }: ResumePoint,
  config: JobConfig,
  evaluations: readonly MetricEvent[],
): number[] {
  const { loadBestModelAtEnd, earlyStoppingPatience, metricForBestModel, objective } = config;
  const isCompared = loadBestModelAtEnd || earlyStoppingPatience !== undefined;
  if (!isCompared || isLogged(metricForBestModel, objective)) return [];
  const scoreOf = createScorer(config);
  const scored = new Set(evaluations.map((evaluation) => scoreOf(evaluation)?.step));
  const steps = checkpointSteps(join(directory, ARTIFACTS));
  return steps.filter((each) => each <= step && !scored.has(each));
}

function notEvaluated(steps: readonly number[], jobId: string): string {
  const reason = `not evaluated by job ${jobId}, so`;
  if (steps.length === 1) return `step ${steps[0]} was ${reason} it cannot be the best`;
  const list = `${steps.slice(0, -1).join(", ")} and ${steps.at(-1)}`;
  return `steps ${list} were ${reason} none of them can be the best`;
}

function evaluationIn({ step, evalLoss }: EventData["training.log"]): Evaluation[] {
  return typeof evalLoss === "number" ? [{ step, evalLoss }] : [];
}

/** The evaluations that show each metric's history. */
function resumedEvaluations(
  logs: readonly EventData["training.log"][],
): Started["resumedEvaluations"] {
  const all = logs.map((log) => ({ step: log.step, values: heldOutValues(log) }));
  return logsForHistories(all).map(({ step, values: { evalLoss, ...metrics } }) => ({
    step,
    ...(evalLoss !== undefined && { evalLoss }),
    ...(Object.keys(metrics).length > 0 && { metrics }),
  }));
}

/** The step of the best undamaged checkpoint, if any. Notes each that it skips. */
export function bestStep(
  from: ResumePoint,
  config: JobConfig,
  evaluations: readonly MetricEvent[],
  note: (text: string) => void,
): number | undefined {
  const scoreOf = createScorer(config);
  const scores = evaluations.flatMap((event) => scoreOf(event) ?? []);
  const artifacts = join(from.directory, ARTIFACTS);
  const available = new Set(checkpointSteps(artifacts));
  for (;;) {
    const best = bestScore(scores.filter(({ step }) => available.has(step)))?.step;
    if (best === undefined) return undefined;
    try {
      assertUndamaged({ checkpoint: join(artifacts, checkpointFolder(best)), step: best });
      return best;
    } catch (error) {
      note(`warning: the checkpoint of step ${best} can't be the best: ${messageOf(error)}`);
      available.delete(best);
    }
  }
}

/**
 * Copies a checkpoint into the continuing job.
 * @param skipped names of files not to copy
 * @throws KitError `CANNOT_WRITE`
 */
export function copyCheckpoint(
  from: ResumePoint,
  step: number,
  to: string,
  skipped: readonly string[] = [],
): Pick<Artifact, "step" | "path"> {
  const folder = checkpointFolder(step);
  try {
    copyArtifact(join(from.directory, ARTIFACTS, folder), join(to, ARTIFACTS, folder), skipped);
  } catch (error) {
    throw cannotWrite(`copy the checkpoint of step ${step} to ${to}`, error);
  }
  return { step, path: `${ARTIFACTS}/${folder}` };
}
