import { dirname, join } from "node:path";
import { checkpointSteps } from "../../jobs/artifactFiles.ts";
import { readEvaluations } from "../../jobs/figures.ts";
import type { ResumePoint } from "../../jobs/resumePoint.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import { EVALUATED } from "../../protocol/event.ts";

/** The checkpoints up to one of a job that it has no figures of. */
export function unaskedCheckpoints({
  jobId,
  directory,
  step,
}: ResumePoint): { step: number; checkpoint: string }[] {
  const evaluations = readEvaluations(dirname(directory), jobId, step);
  const asked = new Set(
    evaluations.flatMap(({ event, data }) => (event === EVALUATED ? data.step : [])),
  );
  const artifacts = join(directory, ARTIFACTS);
  return checkpointSteps(artifacts)
    .filter((saved) => saved <= step && !asked.has(saved))
    .map((saved) => ({ step: saved, checkpoint: join(artifacts, checkpointFolder(saved)) }));
}
