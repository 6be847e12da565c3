import type { ResumePoint } from "../../jobs/resumePoint.ts";
import type { Engine } from "../../protocol/engine.ts";
import { type Artifact, type PastEvent, EVALUATED } from "../../protocol/event.ts";
import type { Job } from "../../protocol/job.ts";
import type { Metrics } from "../../protocol/metric.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import type { TrainerCallbacks } from "../callbacks.ts";
import type { CallbackQueue } from "./callbackQueue.ts";
import type { Checkpoints } from "./checkpoints.ts";
import { type Evaluated, type Evaluation, createEvaluation } from "./evaluation.ts";
import type { JobProgress } from "./jobProgress.ts";

/** The evaluations of one job, in the place of each among its callbacks. */
export interface JobEvaluation {
  /** Before the training: asks the model that it starts from, unless an earlier job has. */
  prepare: (config: JobConfig, from: ResumePoint | undefined) => Promise<void>;
  /** The training has begun: records what is known of its start. */
  onStarted: () => void;
  /** Asks a checkpoint, before its `onCheckpoint`. */
  onSaved: (artifact: Pick<Artifact, "step" | "path">) => void;
  /** As `Evaluation.costNote`. */
  costNote: (seconds: number) => string | undefined;
}

interface JobEvaluationOptions {
  config: JobConfig;
  metrics: Metrics | undefined;
  engine: Pick<Engine, "load">;
  job: Job;
  callbacks: TrainerCallbacks;
  calls: CallbackQueue;
  checkpoints: Checkpoints;
  progress: JobProgress;
  /** What an earlier process has recorded. */
  recorded: readonly PastEvent[];
  record: (event: { event: typeof EVALUATED; data: Evaluated }) => void;
  /** Takes that an evaluation ends the training. */
  onOver: () => void;
  signal: AbortSignal;
  onNote: (text: string) => void;
}

export function createJobEvaluation(options: JobEvaluationOptions): JobEvaluation {
  const { config, metrics, engine, job, callbacks, calls, checkpoints, progress } = options;
  const { recorded, record, onOver, signal, onNote } = options;
  const known = recorded.flatMap((one) => (one.event === EVALUATED ? one.data : []));
  let evaluation: Evaluation | undefined;
  let before = known.find(({ step }) => step === 0);
  let isResumed = false;

  /** @returns the call of its callback */
  function take(data: Evaluated): () => unknown {
    const event = { event: EVALUATED, data } as const;
    record(event);
    if (progress.onEvent(event)) onOver();
    if (data.step === 0) before = data;
    const { lowerIsBetter: _, ...shown } = data;
    const context = { job, ...shown, ...(before && { before: before.metrics }) };
    return () => callbacks.onEvaluated?.(context);
  }

  function inheritedStart(): Evaluated | undefined {
    const found = progress.inherited().find(({ data }) => data.step === 0);
    if (found?.event !== EVALUATED) return undefined;
    const { metrics: figures } = found.data;
    // A metric that is new has no figure there.
    return config.evaluate?.metrics.every((name) => name in figures) ? found.data : undefined;
  }

  function onSaved({ step, path }: Pick<Artifact, "step" | "path">): void {
    if (!evaluation) return;
    const asking = evaluation;
    calls.add("onEvaluated", async () => {
      const { infer, close } = checkpoints.open({ path });
      const call = take(await asking.of(step, { infer }));
      await close();
      await call();
    });
  }

  return {
    async prepare(ready, from) {
      const { evaluate } = config;
      if (!evaluate || !metrics) return;
      evaluation = await createEvaluation({
        ...{ config: ready, evaluate, metrics, engine, signal, onNote },
      });
      isResumed = from !== undefined;
      if (recorded.length > 0) {
        const asked = new Set(known.map(({ step }) => step));
        for (const artifact of progress.saved.result()) {
          if (!asked.has(artifact.step)) onSaved(artifact);
        }
      } else if (!isResumed) before = await evaluation.ofStart();
    },
    onStarted() {
      if (!evaluation) return;
      const found = isResumed ? inheritedStart() : before;
      if (found) {
        calls.add("onEvaluated", take(found));
        return;
      }
      // The held-out rows or the metrics are others than the earlier job's.
      const asking = evaluation;
      calls.add("onEvaluated", async () => take(await asking.ofStart())());
    },
    onSaved,
    costNote: (seconds) => evaluation?.costNote(seconds),
  };
}
