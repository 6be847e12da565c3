import { join } from "node:path";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { type Artifact, EVALUATED } from "../../protocol/event.ts";
import { formatCounted } from "../../protocol/format.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { type Evaluated, type Evaluation, createEvaluation } from "./evaluation.ts";
import { type Run, jobWithStatus } from "./run.ts";

/** One job's evaluations, in order with its callbacks. */
export interface JobEvaluation {
  /** Evaluates the starting model, unless the job continues another. */
  prepare: (config: JobConfig, from: ResumePoint | undefined) => Promise<void>;
  /** Records the evaluations known when training starts. */
  onStarted: () => void;
  /** Evaluates a checkpoint before its `onCheckpoint`. */
  onSaved: (artifact: Pick<Artifact, "step" | "path">) => void;
  /** Same as `Evaluation.costNote`. */
  costNote: () => string | undefined;
}

export function createJobEvaluation(run: Run): JobEvaluation {
  const { config, metrics, callbacks, calls, checkpoints, progress, record } = run;
  const { directory } = run.owned;
  const recorded = run.recorded?.events ?? [];
  const evaluated = recorded.flatMap((past) => (past.event === EVALUATED ? past.data : []));
  let evaluation: Evaluation | undefined;
  let before = evaluated.find(({ step }) => step === 0);

  function recordEvaluated(data: Evaluated): void {
    const event = { event: EVALUATED, data } as const;
    record(event);
    if (progress.onEvent(event)) run.trainingEnded.abort();
    if (data.step === 0) before = data;
  }

  /** Records earlier evaluations, because one may be the best. */
  function recordEarlier(): void {
    for (const { event, data } of progress.earlierEvaluations()) {
      if (event === EVALUATED && data.step > 0) record({ event, data });
    }
  }

  function callBack(data: Evaluated): unknown {
    const { lowerIsBetter: _, ...context } = data;
    const job = jobWithStatus(run, "running");
    return callbacks.onEvaluated?.({ job, ...context, ...(before && { before: before.metrics }) });
  }

  /** Evaluates in order with the callbacks. */
  function enqueue(step: number, evaluate: () => Promise<Evaluated>): void {
    let result: Evaluated | undefined;
    const evaluateAndRecord = async () => {
      result = await evaluate();
      recordEvaluated(result);
    };
    const note = () => {
      const { rows = 0, progress } = evaluation ?? {};
      const answered = progress?.() ?? "";
      const text = `evaluating step ${step} on ${formatCounted(rows, "held-out row")}`;
      return answered === "" ? text : `${text}: ${answered}`;
    };
    calls.add("onEvaluated", () => result && callBack(result), { note, run: evaluateAndRecord });
  }

  /** The initial evaluation in the job that this one continues. */
  function earlierInitial(): Evaluated | undefined {
    const [found] = progress
      .earlierEvaluations()
      .flatMap(({ event, data }) => (event === EVALUATED && data.step === 0 ? data : []));
    // A new metric has no value there.
    const isComplete = config.evaluate?.metrics.every((name) => found && name in found.metrics);
    return isComplete ? found : undefined;
  }

  function onSaved({ step, path }: Pick<Artifact, "step" | "path">): void {
    if (!evaluation) return;
    const evaluate = evaluation;
    enqueue(step, async () => {
      const { infer, close } = checkpoints.open({ path });
      const found = await evaluate.evaluateCheckpoint(step, join(directory, path), { infer });
      await close();
      return found;
    });
  }

  return {
    async prepare(materializedConfig, from) {
      const { evaluate } = config;
      if (!evaluate || !metrics) return;
      evaluation = await createEvaluation(run, materializedConfig, evaluate, metrics);
      if (recorded.length > 0) {
        const evaluatedSteps = new Set(evaluated.map(({ step }) => step));
        if (!before && !from) enqueue(0, evaluation.evaluateInitialModel);
        for (const artifact of progress.saved.result()) {
          // Artifacts of earlier steps are copies.
          if (!evaluatedSteps.has(artifact.step) && artifact.step > (from?.step ?? 0))
            onSaved(artifact);
        }
      } else if (!from) before = await evaluation.evaluateInitialModel();
    },
    onStarted() {
      if (!evaluation) return;
      const start = before ?? earlierInitial();
      // The held-out rows or metrics differ from the earlier job's.
      if (start) {
        recordEvaluated(start);
        calls.add("onEvaluated", () => callBack(start));
      } else enqueue(0, evaluation.evaluateInitialModel);
      recordEarlier();
    },
    onSaved,
    costNote: () => evaluation?.costNote(),
  };
}
