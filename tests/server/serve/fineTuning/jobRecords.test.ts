import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type OwnedJob } from "../../../../jobs/ownedJob.ts";
import { beginPlanned, endPlanned, planJob } from "../../../../jobs/plannedJob.ts";
import { createJobStore } from "../../../../jobs/store.ts";
import { openFileStore } from "../../../../server/serve/fineTuning/fileStore.ts";
import { eventsOf } from "../../../../server/serve/fineTuning/jobEvents.ts";
import { asJobObject } from "../../../../server/serve/fineTuning/jobObject.ts";
import { resultFileId, writeResultFile } from "../../../../server/serve/fineTuning/resultFile.ts";
import { modelName, readTuningJob } from "../../../../server/serve/fineTuning/tuningJob.ts";
import { CONFIG, STARTED } from "../../../jobs.ts";
import { createProject } from "../../../project.ts";

/** A planned job, and the store that has its file. */
function plan(more: object = {}) {
  const project = createProject();
  const files = openFileStore(project);
  const partial = files.create();
  writeFileSync(partial.path, "{}\n");
  const { id: file } = partial.keep({ bytes: 3, filename: "mine.jsonl", purpose: "fine-tune" });
  const method = { type: "supervised", hyperparameters: {} };
  const request = { model: "base", training_file: file, seed: 1, method, ...more };
  const { id } = planJob(project, { name: "a", trainer: {}, request });
  const read = () => readTuningJob(createJobStore(project), id)!;
  const begin = (): Promise<OwnedJob> => beginPlanned(project, id, CONFIG);
  return { id, file, files, read, begin, directory: read().directory };
}

it("a job whose process dies has an error as its last event", async () => {
  const { files, read, begin } = plan();
  const owned = await begin();
  owned.append(STARTED);
  owned.close();
  expect(eventsOf(read(), files)[0]).toMatchObject({
    level: "error",
    message: asJobObject(read(), files).error?.message,
  });
});

it("deleting a file leaves its job's error, and a deleted result stays deleted", async () => {
  const { directory, file, files, read } = plan();
  const error = `${files.contentPath(file)}:1:1: no JSON`;
  await endPlanned(directory, { event: "training.failed", data: { error } });
  const before = asJobObject(read(), files).error;
  expect(before).toMatchObject({
    code: "invalid_training_file",
    message: "mine.jsonl:1:1: no JSON",
  });
  files.remove(file);
  expect(asJobObject(read(), files).error).toEqual(before);

  writeResultFile(read(), files);
  const result = resultFileId(read());
  expect(files.get(result)).toMatchObject({ purpose: "fine-tune-results" });
  files.remove(result);
  writeResultFile(read(), files);
  expect(files.get(result)).toBeUndefined();
});

it.each([
  ["base", "b", "ft:base:b"],
  ["ft:base:a:1", "b", "ft:base:b"],
  ["ft:base::1:ckpt-step-6", "b", "ft:base:b"],
  ["ft:base:a:1:ckpt-step-6", undefined, "ft:base:"],
])("a job from %s with the suffix %s makes %s", (model, suffix, name) => {
  const { id, read } = plan({ model, suffix });
  expect(modelName(read())).toBe(`${name}:${id}`);
});
