import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { checkPlanned } from "../../../../cli/jobs/plannedTrainer.ts";
import { EXIT_CODE } from "../../../../cli/process/exitCode.ts";
import { readPlan } from "../../../../jobs/jobFile.ts";
import { type OwnedJob } from "../../../../jobs/ownedJob.ts";
import {
  beginPlanned,
  cancelJob,
  checkedAt,
  endPlanned,
  planJob,
} from "../../../../jobs/plannedJob.ts";
import { createJobStore } from "../../../../jobs/store.ts";
import type { EventData } from "../../../../protocol/event.ts";
import { inApiWords } from "../../../../server/serve/fineTuning/apiWords.ts";
import { openFileStore } from "../../../../server/serve/fineTuning/fileStore.ts";
import { eventsOf } from "../../../../server/serve/fineTuning/jobEvents.ts";
import { asJobObject } from "../../../../server/serve/fineTuning/jobObject.ts";
import { jobRequest } from "../../../../server/serve/fineTuning/jobRequest.ts";
import { resultFileId, writeResultFile } from "../../../../server/serve/fineTuning/resultFile.ts";
import { modelName, readTuningJob } from "../../../../server/serve/fineTuning/tuningJob.ts";
import { jsonl } from "../../../engines/embedded/scratch.ts";
import { CONFIG, STARTED } from "../../../jobs.ts";
import { runKit } from "../../../kit.ts";
import { createProject } from "../../../project.ts";
import { BASE, ROWS, createTuningProject } from "./tuningProject.ts";

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

it("warns about rows that it skips or cuts, and about a reduced batch", async () => {
  const hyperparameters = { batch_size: 64 };
  const { files, read, begin } = plan({ method: { type: "supervised", hyperparameters } });
  const owned = await begin();
  const counts = { rows: 2, leftOut: 10, cut: 1, evalRows: 3, evalLeftOut: 1, evalCut: 2 };
  const data = { ...STARTED.data, ...counts, maxLength: 1024 } as EventData["training.started"];
  owned.append({ event: "training.started", data });
  owned.close();
  const warned = eventsOf(read(), files).filter(({ level }) => level === "warn");
  expect(warned.map(({ message }) => message).toReversed()).toEqual([
    "Skipped 10 of 12 rows of the training file: no answer fits in 1024 tokens",
    "Cut 1 of 12 rows of the training file: they exceed 1024 tokens",
    "Skipped 1 of 4 rows of the validation file: no answer fits in 1024 tokens",
    "Cut 2 of 4 rows of the validation file: they exceed 1024 tokens",
    "Reduced batch_size to the rows: 2",
  ]);
  expect(asJobObject(read(), files).hyperparameters).toEqual({ batch_size: CONFIG.batchSize });
});

it.each([
  [11, {}, { batchSize: 4, numTrainEpochs: 25 }],
  [1, {}, { batchSize: 1, numTrainEpochs: 25 }],
  [500, {}, { batchSize: 4, numTrainEpochs: 3 }],
  [3_500, {}, { batchSize: 4, numTrainEpochs: 1 }],
  [11, { batchSize: 64, numTrainEpochs: 2 }, { batchSize: 11, numTrainEpochs: 2 }],
])("the check of %s rows with %j settles %j", async (count, options, settled) => {
  const rows = Array.from({ length: count }, (_, n) => ROWS[n % ROWS.length]!);
  const project = createTuningProject({ "data.jsonl": jsonl(rows) });
  const dataset = { type: "jsonl", path: "data.jsonl" };
  const trainer = { name: "a", model: BASE, lora: {}, dataset, ...options };
  const { id } = planJob(project, { name: "a", trainer });
  await checkPlanned(project, id);
  const directory = createJobStore(project).directoryOf(id);
  expect(readPlan(directory)?.trainer).toEqual({ ...trainer, ...settled });
});

it.each([
  [
    "with a learningRate of 0.02. Try a learningRate of 0.002 or less, or more warmupSteps.",
    "with a learning_rate_multiplier of 100. Try a learning_rate_multiplier of 10 or less.",
  ],
  [
    'set objective to { type: "dpo" } to learn from pairs',
    'set method to { type: "dpo" } to learn from pairs',
  ],
  ["no rows; for other names, set columns or map", "no rows"],
  ["Shorten the prompts or raise maxLength.", "Shorten the prompts."],
  [
    'the file is CSV: name it .csv and leave out its type, or set the type to "csv". Write a',
    "the file is CSV. Write a",
  ],
])("the error %j becomes %j", (error, message) => {
  expect(inApiWords(error, "supervised")).toBe(message);
});

it("the check of a cancelled job ends early, whichever server began it", async () => {
  const empty = {
    messages: [
      { role: "user", content: "" },
      { role: "assistant", content: "" },
    ],
  };
  const project = createTuningProject({ "data.jsonl": jsonl([...ROWS, empty]) });
  const dataset = { type: "jsonl", path: "data.jsonl" };
  const trainer = { name: "a", model: BASE, lora: {}, dataset };
  const { id } = planJob(project, { name: "a", trainer });
  const directory = createJobStore(project).directoryOf(id);
  await cancelJob(directory);
  const { code } = await runKit(project, ["check", "--planned", id]);
  expect([code, checkedAt(directory)]).toEqual([EXIT_CODE.cancelled, undefined]);
});

it("two servers write one result file, and a job can't train on it", () => {
  const { files, read } = plan();
  const create = () => {
    writeResultFile(read(), files);
    return files.create();
  };
  writeResultFile(read(), { ...files, create });
  const body = { model: "base", training_file: resultFileId(read()) };
  expect(() => jobRequest(body, files)).toThrow(/purpose=fine-tune/);
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
