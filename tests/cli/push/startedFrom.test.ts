import { expect, test } from "vitest";
import { startedFrom } from "../../../cli/push/startedFrom.ts";
import { createProject } from "../../project.ts";

const job = (model: unknown) => JSON.stringify({ config: { model } });

test.each([
  ["./.kit/jobs/second/artifacts/step-4", "org/base"],
  ["./.kit/jobs/first", "org/base"],
  ["org/other", "org/other"],
  ["./exported", undefined],
  ["./.kit/jobs/scratch", undefined],
  ["kit/nano", undefined],
])("a job on %s started from %s", (model, base) => {
  const project = createProject({
    ".kit/jobs/first/job.json": job("org/base"),
    ".kit/jobs/second/job.json": job("./.kit/jobs/first/artifacts"),
    ".kit/jobs/scratch/job.json": job({ layers: 1 }),
  });
  expect(startedFrom(model, project)).toBe(base);
});
