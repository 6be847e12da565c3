import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { checkpointSteps, artifactExists } from "../../jobs/artifactFiles.ts";
import { type MetricEvent, readLosses } from "../../jobs/metricEvents.ts";
import type { JobHistory } from "../../jobs/remote/attach.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import type { Engine } from "../../protocol/engine.ts";
import { type KitError, cannotFollow } from "../../protocol/error.ts";
import {
  type EngineEvent,
  type EventData,
  type JobEvent,
  EVALUATED,
} from "../../protocol/event.ts";
import { withDigits } from "../../protocol/format.ts";
import { NO_LOSSES, addLoss, divergedFrom } from "../../protocol/lossEnds.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { diverged } from "../engine.ts";
import { createMissingMetricNote } from "./checkpointScore.ts";
import { bestStep, continueFrom, copyCheckpoint } from "./continueFrom.ts";
import { createEarlyStopping } from "./earlyStopping.ts";
import { type SavedArtifacts, createSavedArtifacts } from "./savedArtifacts.ts";

/** An event of a running job. */
export type RunningEvent = EngineEvent | JobEvent<typeof EVALUATED>;

/** State derived from a job's events. */
export interface JobProgress {
  /** The newest reported step. */
  step: () => number;
  saved: SavedArtifacts;
  /** The step at which training stopped early, if it did. */
  stoppedAt: () => number | undefined;
  /** `DIVERGED` if the losses show no usable model. */
  divergence: () => KitError | undefined;
  /** Completes an event for the log; `training.started` takes over the state of `from`. */
  begin: (event: EngineEvent, from: ResumePoint | undefined) => EngineEvent;
  /** @returns whether training ends with it */
  onEvent: (event: RunningEvent) => boolean;
  /** Evaluations of the job that this one continues. */
  earlierEvaluations: () => readonly MetricEvent[];
  /**
   * Replays what an earlier process recorded.
   * @returns the result of `onEvent` for the last event
   * @throws KitError `CANNOT_FOLLOW`
   */
  replay: (recorded: JobHistory) => boolean;
}

interface JobProgressOptions {
  directory: string;
  config: JobConfig;
  engine: Pick<Engine, "resumeFiles" | "remote">;
  onNote: (text: string) => void;
  /** The step until the first event. Default 0. */
  startsAt?: () => number;
}

export function createJobProgress(options: JobProgressOptions): JobProgress {
  const { directory, config, engine, onNote, startsAt = () => 0 } = options;
  const saved = createSavedArtifacts({ directory, engine, onNote }, config);
  const stopping = createEarlyStopping(config);
  const noteMissingMetric = createMissingMetricNote(config, onNote);
  let step: number | undefined;
  let losses = NO_LOSSES;
  let earlierEvaluations: readonly MetricEvent[] = [];
  let resumedAt = 0;

  function onEvent(event: RunningEvent): boolean {
    if (event.event === EVALUATED && isEarlier(event.data)) return false;
    // Evaluations may finish after later steps.
    if ("step" in event.data) step = Math.max(step ?? 0, event.data.step);
    if (event.event === "training.log" && typeof event.data.loss === "number")
      losses = addLoss(losses, event.data.loss);
    saved.onEvent(event);
    noteMissingMetric(event);
    return stopping.onEvent(event);
  }

  /** Whether an evaluation is from the job that this one continues. The last step may be evaluated again. */
  function isEarlier(evaluated: EventData[typeof EVALUATED]): boolean {
    if (evaluated.step !== resumedAt) return evaluated.step < resumedAt;
    return earlierEvaluations.some(({ data }) => isDeepStrictEqual(data, evaluated));
  }

  /** Restores the state of the job that this one continues. */
  function continueJob(
    data: EventData["training.started"],
    from: ResumePoint,
    note: typeof onNote,
  ) {
    const { started, evaluations } = continueFrom(from, config, data, note);
    step = resumedAt = from.step;
    losses = [...readLosses(dirname(from.directory), from.jobId, from.step)].reduce(
      addLoss,
      NO_LOSSES,
    );
    earlierEvaluations = evaluations;
    for (const event of earlierEvaluations) saved.onEvent(event);
    stopping.resume(earlierEvaluations, data.maxSteps);
    return started;
  }

  function divergence(): KitError | undefined {
    // The result is then an earlier, better checkpoint.
    if (config.loadBestModelAtEnd) return undefined;
    const began = divergedFrom(losses);
    const ended = losses.last.at(-1) ?? losses.first.at(-1);
    if (began === undefined || ended === undefined) return undefined;
    const [last, first] = [ended, began].map((loss) => withDigits(loss, 4));
    const how = `: the loss ended at ${last}, more than ten times the ${first} where it began`;
    return diverged(how, config.learningRate);
  }

  function addEarlier(artifact: { step: number; path: string }): void {
    const kind = config.lora ? "adapter" : "model";
    saved.onEvent({ event: "checkpoint.saved", data: { ...artifact, kind } });
    saved.release(artifact.step);
  }

  function begin(event: EngineEvent, from: ResumePoint | undefined): EngineEvent {
    if (event.event !== "training.started" || !from) return event;
    const started = continueJob(event.data, from, onNote);
    const best = config.loadBestModelAtEnd
      ? bestStep(from, config, earlierEvaluations, onNote)
      : undefined;
    // A finished run saves nothing more.
    const last = stopping.stoppedAt() === undefined ? undefined : from.step;
    if (last !== undefined) onNote(`job ${from.jobId} had stopped early; only completing it`);
    for (const earlier of new Set([best, last])) {
      // The engine saves the last step again.
      if (earlier === undefined || earlier === event.data.maxSteps) continue;
      addEarlier(copyCheckpoint(from, earlier, directory, engine.resumeFiles));
    }
    return { event: "training.started", data: { ...event.data, ...started } };
  }

  function replay(recorded: JobHistory): boolean {
    try {
      return replayEvents(recorded);
    } catch (error) {
      throw cannotFollow(error);
    }
  }

  function replayEvents({ events, from }: JobHistory): boolean {
    let isOver = false;
    for (const event of events) {
      if (event.event === "training.started" && from) {
        continueJob(event.data, from, () => {});
        const steps = checkpointSteps(join(directory, ARTIFACTS));
        for (const each of steps.filter((earlier) => earlier <= from.step)) {
          addEarlier({ step: each, path: `${ARTIFACTS}/${checkpointFolder(each)}` });
        }
      }
      if (isPruned(event)) continue;
      isOver = onEvent(event);
      if (event.event === "checkpoint.saved") saved.release(event.data.step);
    }
    return isOver;
  }

  /** Whether `saveTotalLimit` pruned the event's checkpoint. */
  function isPruned(event: RunningEvent): boolean {
    return event.event === "checkpoint.saved" && !artifactExists(join(directory, event.data.path));
  }

  return {
    step: () => step ?? startsAt(),
    saved,
    earlierEvaluations: () => earlierEvaluations,
    stoppedAt: stopping.stoppedAt,
    divergence,
    begin,
    onEvent,
    replay,
  };
}
