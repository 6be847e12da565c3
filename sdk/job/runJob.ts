import { type JobResult, complete, endEarly, endWithProcess } from "./end.ts";
import { createJobEvaluation } from "./jobEvaluation.ts";
import { type RunJobOptions, createRun } from "./run.ts";
import { train } from "./train.ts";

/** Drives one job from the queue to its last event. Never rejects. */
export async function runJob(options: RunJobOptions): Promise<JobResult> {
  const run = createRun(options);
  const evaluation = createJobEvaluation(run);
  const onExit = (code: number) => endWithProcess(run, code);
  process.once("exit", onExit);
  try {
    const isStopped = await train(run, evaluation);
    return await complete(run, evaluation, isStopped);
  } catch (error) {
    return await endEarly(run, error);
  } finally {
    process.off("exit", onExit);
    await run.checkpoints.close();
    run.owned.close();
  }
}
