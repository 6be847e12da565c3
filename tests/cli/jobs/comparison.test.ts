import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobEvent } from "../../../protocol/event.ts";
import { COMPLETED, createJob, logOf } from "../../jobs.ts";
import { runKit } from "../../kit.ts";
import { createProject } from "../../project.ts";

const LOGGED: JobEvent[] = [
  {
    event: "training.started",
    data: {
      ...{ model: "kit/nano", parameters: 10, rows: 1200, maxSteps: 20 },
      ...{ fingerprint: "aaaa", evalRows: 100, evalFingerprint: "eeee" },
      resumedBest: { step: 5, evalLoss: 0.5 },
    },
  },
  {
    event: "checkpoint.evaluated",
    data: { step: 0, metrics: { accuracy: 0.25 }, rows: 4, seconds: 1 },
  },
  { event: "training.log", data: { step: 10, loss: 0.5, evalLoss: 0.75 } },
  {
    event: "checkpoint.evaluated",
    data: { step: 10, metrics: { accuracy: 1 }, rows: 4, seconds: 1 },
  },
  { event: "training.log", data: { step: 20, loss: 0.625, evalLoss: 1, metrics: { margin: 2 } } },
  {
    event: "checkpoint.evaluated",
    data: { step: 20, metrics: { accuracy: 0.75 }, rows: 4, seconds: 1 },
  },
  COMPLETED,
];

/** A job that ran for 90 s and one that failed at its start, with other options. */
function twoJobs() {
  const project = createProject();
  const one = createJob(project, "one", LOGGED);
  const records = readFileSync(logOf(one), "utf8").trim().split("\n");
  const times = records.map((line, at) => ({
    ...(JSON.parse(line) as object),
    time: new Date((90_000 * at) / (records.length - 1)).toISOString(),
  }));
  writeFileSync(logOf(one), times.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const other = createJob(project, "\u001b[31mother", [
    { event: "training.failed", data: { error: "no room" } },
  ]);
  const path = join(other.directory, "job.json");
  const file = JSON.parse(readFileSync(path, "utf8")) as { config: Record<string, unknown> };
  const config = { ...file.config, learningRate: 0.01, lora: { r: 8, alpha: 16 } };
  writeFileSync(path, JSON.stringify({ ...file, config }));
  return { project, ids: [one.job.id, other.job.id] as const };
}

test("kit jobs --compare shows how two jobs differ in options and results", async () => {
  const { project, ids } = twoJobs();
  const { code, stdout, stderr } = await runKit(project, ["jobs", "--compare", ids[0], "latest"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const rows = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  expect(rows).toEqual([
    ["job", ...ids],
    ["name", "one", "\\u001b[31mother"],
    ["status", "completed", "failed"],
    ["learningRate", "0.001", "0.01"],
    ["lora.r", "–", "8"],
    ["lora.alpha", "–", "16"],
    ["rows", "1,200", "–"],
    ["data", "aaaa", "–"],
    ["held out", "100", "–"],
    ["held-out data", "eeee", "–"],
    ["steps", "20 of 20", "–"],
    ["loss", "0.625, best 0.5 at step 10", "–"],
    ["evalLoss", "1, best 0.5 at step 5", "–"],
    ["margin", "2", "–"],
    ["accuracy", "0.75, before 0.25, best 1 at step 10", "–"],
    ["time", "1m 30s", "–"],
  ]);
});

test("kit jobs --compare --json has the same for programs", async () => {
  const { project, ids } = twoJobs();
  const { stdout } = await runKit(project, ["jobs", "--compare", ...ids, "--json"]);
  expect(JSON.parse(stdout)).toEqual({
    jobs: [
      {
        ...{ id: ids[0], name: "one", status: "completed" },
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        options: { learningRate: 0.001 },
        data: { rows: 1200, fingerprint: "aaaa", evalRows: 100, evalFingerprint: "eeee" },
        ...{ step: 20, steps: 20, seconds: 90 },
        loss: { last: 0.625, best: 0.5, bestStep: 10 },
        evalLoss: { last: 1, best: 0.5, bestStep: 5 },
        metrics: { margin: 2 },
        evaluated: { accuracy: { now: 0.75, before: 0.25, best: 1, bestStep: 10 } },
      },
      {
        ...{ id: ids[1], name: "\u001b[31mother", status: "failed" },
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        options: { learningRate: 0.01, "lora.r": 8, "lora.alpha": 16 },
        data: {},
      },
    ],
  });
});

test("kit jobs --json has all that the list shows", async () => {
  const { project, ids } = twoJobs();
  const { stdout } = await runKit(project, ["jobs", "--json"]);
  const time = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  expect(JSON.parse(stdout)).toEqual([
    { id: ids[1], name: "\u001b[31mother", status: "failed", createdAt: time },
    { id: ids[0], name: "one", status: "completed", createdAt: time },
  ]);
  expect(await runKit(createProject(), ["jobs", "--json"])).toEqual({
    ...{ code: 0, stdout: "[]\n", stderr: "" },
  });
});

test.each([
  [["latest"], 2, /^kit: Name two jobs: kit jobs --compare /],
  [["latest", "latest", "latest"], 2, /^kit: Name two jobs/],
  [["latest", "nobody"], 2, /^kit: No job named nobody in /],
  [[], 2, /argument missing/],
])("kit jobs --compare %j is told what is wrong", async (named, code, message) => {
  const { project } = twoJobs();
  const found = await runKit(project, ["jobs", "--compare", ...named]);
  expect(found).toMatchObject({
    code,
    stdout: "",
    stderr: expect.stringMatching(message) as string,
  });
});
