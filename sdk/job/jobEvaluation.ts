import { join, resolve } from "node:path";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { assertUndamaged } from "../../jobs/undamagedCheckpoint.ts";
import type { Engine } from "../../protocol/engine.ts";
import { messageOf } from "../../protocol/error.ts";
import {
  type Artifact,
  type JobEvent,
  type PastEvent,
  EVALUATED,
  EVALUATING,
} from "../../protocol/event.ts";
import { formatCounted } from "../../protocol/format.ts";
import type { Job } from "../../protocol/job.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import type { CallbackQueue } from "./callbackQueue.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { type Evaluated, type Evaluation, createEvaluation } from "./evaluation.ts";
import type { JobProgress } from "./jobProgress.ts";
import { unaskedCheckpoints } from "./unaskedCheckpoints.ts";

/** The evaluations of one job, in the place of each among its callbacks. */
export interface JobEvaluation {
  /**
   * Before the training: asks the model that it starts from; of a job that it goes on from, only what
   * that one has not asked.
   */
  prepare: (config: JobConfig, from: ResumePoint | undefined) => Promise<void>;
  /** The training has begun: records what is known by then. */
  onStarted: () => void;
  /** Asks a checkpoint, before its `onCheckpoint`. */
  onSaved: (artifact: Pick<Artifact, "step" | "path">) => void;
  /** As `Evaluation.costNote`. */
  costNote: (seconds: number) => string | undefined;
}

interface JobEvaluationOptions {
  config: JobConfig;
  metrics: Metrics | undefined;
  engine: Pick<Engine, "name" | "load" | "remote">;
  job: Job;
  /** Absolute path of the job's directory. */
  directory: string;
  callbacks: TrainerCallbacks;
  calls: CallbackQueue;
  checkpoints: Checkpoints;
  progress: JobProgress;
  /** What an earlier process has recorded. */
  recorded: readonly PastEvent[];
  record: (event: JobEvent<typeof EVALUATING | typeof EVALUATED>) => void;
  /** As `EvaluationOptions.limitMs`. */
  limitMs: number | undefined;
  /** Takes that an evaluation ends the training. */
  onOver: () => void;
  signal: AbortSignal;
  onNote: (text: string) => void;
}

export function createJobEvaluation(options: JobEvaluationOptions): JobEvaluation {
  const { config, metrics, engine, job, callbacks, calls, checkpoints, progress } = options;
  const { recorded, record, onOver, signal, limitMs, onNote } = options;
  const known = recorded.flatMap((one) => (one.event === EVALUATED ? one.data : []));
  let evaluation: Evaluation | undefined;
  let before = known.find(({ step }) => step === 0);
  let isResumed = false;
  /** Of the earlier job's checkpoints that it did not come to ask. */
  const late: Evaluated[] = [];

  /** @param isCounted whether the course of the training depends on it already */
  function take(data: Evaluated, isCounted: boolean): void {
    const event = { event: EVALUATED, data } as const;
    record(event);
    if (!isCounted && progress.onEvent(event)) onOver();
    if (data.step === 0) before = data;
  }

  function call(data: Evaluated): unknown {
    const { lowerIsBetter: _, ...shown } = data;
    return callbacks.onEvaluated?.({ job, ...shown, ...(before && { before: before.metrics }) });
  }

  /** Records what is known, and calls back. */
  function tell(data: Evaluated, isCounted: boolean): void {
    take(data, isCounted);
    calls.add("onEvaluated", () => call(data));
  }

  /** Asks in the place of the callback among the others. */
  function ask(step: number, asking: () => Promise<Evaluated>, isCounted = false): void {
    let found: Evaluated | undefined;
    const run = async () => {
      found = await asking();
      take(found, isCounted);
    };
    const note = () => {
      const { rows = 0, progress } = evaluation ?? {};
      const far = progress?.() ?? "";
      const asking = `asking the model for ${formatCounted(rows, "held-out row")} at step ${step}`;
      return far === "" ? asking : `${asking}: ${far}`;
    };
    calls.add("onEvaluated", () => found && call(found), { note, run });
  }

  /** What is known of a step that the earlier job has trained. */
  function inheritedOf(step: number): Evaluated | undefined {
    return progress
      .inherited()
      .flatMap(({ event, data }) => (event === EVALUATED && data.step === step ? data : []))
      .at(-1);
  }

  function inheritedStart(): Evaluated | undefined {
    const found = inheritedOf(0);
    // A metric that is new has no figure there.
    const isWhole = config.evaluate?.metrics.every((name) => found && name in found.metrics);
    return isWhole ? found : undefined;
  }

  function onSaved({ step, path }: Pick<Artifact, "step" | "path">): void {
    // A training whose end alone is left saves the earlier job's checkpoint again.
    if (!evaluation || inheritedOf(step)) return;
    const asking = evaluation;
    ask(step, async () => {
      const { infer, close } = checkpoints.open({ path });
      const found = await asking.of(step, join(options.directory, path), { infer });
      await close();
      return found;
    });
  }

  /** Asks the checkpoints that an earlier job saved and did not come to ask. */
  async function askLate(asking: Evaluation, from: ResumePoint): Promise<void> {
    for (const point of unaskedCheckpoints(from)) {
      onNote(`asking the checkpoint of step ${point.step}, which job ${from.jobId} had not asked`);
      try {
        assertUndamaged(point);
      } catch (error) {
        onNote(`warning: the checkpoint of step ${point.step} is not asked: ${messageOf(error)}`);
        continue;
      }
      const found = await asking.ofFolder(point.step, point.checkpoint);
      late.push(found);
      progress.inherit(found);
    }
  }

  return {
    async prepare(ready, from) {
      const { evaluate } = config;
      if (!evaluate || !metrics) return;
      const asking = await createEvaluation({
        project: resolve(options.directory, "../../.."),
        ...{ config: ready, evaluate, metrics, engine, signal, limitMs, onNote },
        onProgress: (data) => record({ event: EVALUATING, data }),
      });
      evaluation = asking;
      isResumed = from !== undefined;
      if (recorded.length > 0) {
        const asked = new Set(known.map(({ step }) => step));
        if (!before && !isResumed) ask(0, asking.ofStart);
        for (const artifact of progress.saved.result()) {
          if (!asked.has(artifact.step)) onSaved(artifact);
        }
      } else if (from) await askLate(asking, from);
      else before = await asking.ofStart();
    },
    onStarted() {
      if (!evaluation) return;
      const start = isResumed ? inheritedStart() : before;
      if (start) tell(start, isResumed);
      // The held-out rows or the metrics are others than the earlier job's.
      else ask(0, evaluation.ofStart, isResumed);
      for (const { event, data } of progress.inherited()) {
        if (event !== EVALUATED || data.step === 0) continue;
        if (late.includes(data)) tell(data, true);
        // For readers of this log alone.
        else take(data, true);
      }
    },
    onSaved,
    costNote: (seconds) => evaluation?.costNote(seconds),
  };
}
