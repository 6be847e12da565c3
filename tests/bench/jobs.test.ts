import { expect, it, onTestFinished } from "vitest";
import { fillWithJobs, ownJob, removeSpareJobs } from "../../bench/jobs.ts";
import { inScope } from "../../bench/scope.ts";
import { createJobStore } from "../../jobs/store.ts";

const LIMIT_MS = 60_000;

/** A project that a row filled, before it has made a job of its own. */
function fill() {
  return inScope("tiny", LIMIT_MS, (scope) => {
    const project = scope.folder();
    const paths = fillWithJobs(scope, project, 3);
    const jobs = createJobStore(project).list();
    ownJob(scope, project);
    return Promise.resolve({ paths, jobs });
  });
}

it("the jobs that a row has had go to the next as they were", async () => {
  onTestFinished(removeSpareJobs);
  const first = await fill();
  const second = await fill();
  expect(first.jobs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  expect(first.paths).toHaveLength(3);
  expect(second.jobs).toEqual(first.jobs);
});
