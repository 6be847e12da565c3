import { expect, it } from "vitest";
import { openLog } from "../../../../jobs/log/write.ts";
import { logPath } from "../../../../jobs/paths.ts";
import { planJob } from "../../../../jobs/plannedJob.ts";
import { createJobStore } from "../../../../jobs/store.ts";
import { openFileStore } from "../../../../server/serve/fineTuning/fileStore.ts";
import { asJobObject } from "../../../../server/serve/fineTuning/jobObject.ts";
import { readTuningJob } from "../../../../server/serve/fineTuning/tuningJob.ts";
import { createProject } from "../../../project.ts";

it("a job that ends while it is read has no end yet", () => {
  const project = createProject();
  const jobs = createJobStore(project);
  const method = { type: "supervised", hyperparameters: {} };
  const request = { model: "base", training_file: "file-0", seed: 1, method };
  const { id } = planJob(project, { name: "a", trainer: {}, request });
  const read = () => readTuningJob(jobs, id)!;
  const before = read();
  const log = openLog(logPath(before.directory));
  log.append({ event: "training.completed", data: { artifacts: [] } });
  log.close();
  const files = openFileStore(project);
  const running = { fine_tuned_model: null, finished_at: null };
  expect(asJobObject(before, files)).toMatchObject(running);
  expect(asJobObject(read(), files)).toMatchObject({
    status: "succeeded",
    fine_tuned_model: `ft:base::${id}`,
    finished_at: expect.any(Number),
  });
});
