import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leaseOwner } from "../../../disk/lease.ts";
import { createJobStore } from "../../../jobs/store.ts";
import { cancelJobOf } from "../../../server/jobs/killedJob.ts";
import { STARTED, createFarJob, createJob, leaveJob, placeJob } from "../../jobs.ts";
import { createProject } from "../../project.ts";

test("a killed owner's job is cancelled, but none elsewhere, whatever its placement.json holds", () => {
  const project = createProject();
  const [here, far] = [
    createJob(project, "here", [STARTED]),
    createFarJob(project, "far", [STARTED]),
  ];
  placeJob(far);
  writeFileSync(join(far.directory, "placement.json"), "");
  for (const job of [here, far]) leaveJob(job);
  cancelJobOf(leaseOwner(join(here.directory, "lease.json"))!, createJobStore(project));
  const jobs = createJobStore(project).list();
  expect(jobs.map(({ name, status }) => [name, status])).toEqual([
    ["far", "running"],
    ["here", "cancelled"],
  ]);
});
