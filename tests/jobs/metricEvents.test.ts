import { dirname } from "node:path";
import { expect, test } from "vitest";
import { readEvaluations } from "../../jobs/metricEvents.ts";
import type { JobEvent } from "../../protocol/event.ts";
import { STARTED, createJob, logged } from "../jobs.ts";
import { createProject } from "../project.ts";

function evaluated(step: number, evalLoss: number | null): JobEvent {
  return { event: "training.log", data: { step, loss: 1, evalLoss } };
}

function resumed(resumedFrom: string, resumedStep: number): JobEvent {
  return { ...STARTED, data: { ...STARTED.data, resumedFrom, resumedStep } } as JobEvent;
}

test("a job's evaluations begin with those of the jobs that it went on from, up to their steps", () => {
  const project = createProject();
  const first = createJob(project, "a", [STARTED, logged(1), evaluated(2, 3), evaluated(4, 2)]);
  const again = [resumed(first.job.id, 2), evaluated(4, 2.5), evaluated(6, null)];
  const second = createJob(project, "a", again);
  const third = createJob(project, "a", [resumed(second.job.id, 4), evaluated(6, 1)]);
  const of = ({ job, directory }: typeof first, upTo = 100) =>
    readEvaluations(dirname(directory), job.id, upTo).map(({ event, data }) => [
      data.step,
      event === "training.log" ? data.evalLoss : undefined,
    ]);
  expect(of(third)).toEqual([
    ...[
      [2, 3],
      [4, 2.5],
    ],
    [6, 1],
  ]);
  expect(of(third, 4)).toEqual([
    [2, 3],
    [4, 2.5],
  ]);
});

test("a log that names itself as the one before, or a job that is gone, ends the search", () => {
  const project = createProject();
  const job = createJob(project);
  job.append(resumed(job.job.id, 4));
  job.append(evaluated(6, 1));
  const gone = createJob(project, "a", [resumed("20260101-000000-000-gone", 4), evaluated(6, 2)]);
  const of = ({ job: { id }, directory }: typeof job) =>
    readEvaluations(dirname(directory), id, 6).map(({ data }) => data);
  expect(of(job)).toEqual([{ step: 6, loss: 1, evalLoss: 1 }]);
  expect(of(gone)).toEqual([{ step: 6, loss: 1, evalLoss: 2 }]);
});

test("evaluations on other rows than a job's own do not count", () => {
  const project = createProject();
  const on = (evalFingerprint: string, { event, data }: JobEvent = STARTED) =>
    ({ event, data: { ...data, evalFingerprint } }) as JobEvent;
  const first = createJob(project, "a", [on("some"), evaluated(2, 3)]);
  const same = createJob(project, "a", [on("some", resumed(first.job.id, 2)), evaluated(4, 2)]);
  const other = createJob(project, "a", [on("other", resumed(same.job.id, 4)), evaluated(6, 1)]);
  const of = ({ job, directory }: typeof first) =>
    readEvaluations(dirname(directory), job.id, 9).map(({ data }) => data.step);
  expect([of(same), of(other)]).toEqual([[2, 4], [6]]);
});
