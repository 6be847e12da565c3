import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { expect, test } from "vitest";
import type { JobEvent } from "../../../protocol/event.ts";
import { createTensorBoard } from "../../../sdk/job/tensorBoard.ts";
import { CONFIG, STARTED, createJob } from "../../jobs.ts";
import { runKit } from "../../kit.ts";
import { createProject } from "../../project.ts";
import { createTinyTrainer, enterProject } from "../../sdk/project.ts";
import { loggedCurves, readCurves } from "./eventFiles.ts";

/** All that a job logs, as a tag and a value in float32. */
const LOGGED = {
  loss: 0.1,
  evalLoss: 1 / 3,
  learningRate: 2e-5,
  gradNorm: null,
  epoch: 0.5,
  tokensPerSecond: 16_777_217,
  metrics: { rewardsMargins: 1.1, evalRewardsMargins: -0.7 },
};
const CURVES = {
  "train/loss": 0.1,
  "train/learning_rate": 2e-5,
  "train/grad_norm": NaN,
  "train/epoch": 0.5,
  "train/tokens_per_second": 16_777_217,
  "train/rewardsMargins": 1.1,
  "eval/loss": 1 / 3,
  "eval/rewardsMargins": -0.7,
  "evaluate/exact-match": 0.25,
};
const LARGE_STEP = 2 ** 40 + 3;

function evaluated(step: number): JobEvent {
  const metrics = { "exact-match": 0.25 };
  return { event: "checkpoint.evaluated", data: { step, metrics, rows: 4, seconds: 1 } };
}

test("kit jobs --tensorboard writes every value that jobs have logged, in float32", async () => {
  const project = createProject();
  const step = LARGE_STEP;
  const log: JobEvent = { event: "training.log", data: { step, ...LOGGED } };
  const job = createJob(project, "dates", [STARTED, log, evaluated(step)]);
  createJob(project, "queued");
  const written = await runKit(project, ["jobs", "--tensorboard", "runs"]);
  expect(written).toEqual({
    code: 0,
    stdout: "wrote 2 jobs to runs; to see the curves: tensorboard --logdir runs\n",
    stderr: "",
  });
  const run = join(project, "runs", job.job.id);
  const { curves, texts } = readCurves(run);
  expect(curves).toEqual(
    Object.fromEntries(
      Object.entries(CURVES).map(([tag, value]) => [tag, [[step, Math.fround(value)]]]),
    ),
  );
  const config = texts["args/text_summary"]!.replace(/^ {4}/gm, "");
  expect(JSON.parse(config)).toEqual(JSON.parse(JSON.stringify(CONFIG)));

  // Again, into the same folder, where another's files are.
  writeFileSync(join(run, "events.out.tfevents.1.other"), "");
  const { stdout } = await runKit(project, ["jobs", "--tensorboard", "runs", "--json"]);
  expect(JSON.parse(stdout)).toEqual({ path: join(project, "runs"), jobs: 2 });
  expect(readdirSync(run)).toHaveLength(2);
  for (const words of [[""], ["runs", "--compare", "a", "b"]]) {
    expect(await runKit(project, ["jobs", "--tensorboard", ...words])).toMatchObject({ code: 2 });
  }
});

test("a folder that cannot be written is an error, and jobs stay as they are", async () => {
  const project = createProject({ runs: "a file" });
  const job = createJob(project, "dates", [STARTED, evaluated(1)]);
  const failed = await runKit(project, ["jobs", "--tensorboard", "runs"]);
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toMatch(/^kit: Cannot write .*runs.*: ENOTDIR/);
  await runKit(project, ["jobs", "--tensorboard", ".kit/jobs"]);
  expect(existsSync(join(job.directory, "events.ndjson"))).toBe(true);
});

test("a job that continues others has one curve, without their evaluations on other rows", async () => {
  const project = createProject();
  const log = (step: number, loss: number): JobEvent => ({
    event: "training.log",
    data: { step, loss, evalLoss: loss, metrics: { margins: loss, evalMargins: loss } },
  });
  const started = (evalFingerprint: string, resumedFrom?: string, resumedStep?: number) =>
    ({
      event: "training.started",
      data: { ...STARTED.data, evalFingerprint, resumedFrom, resumedStep },
    }) as JobEvent;
  const first = createJob(project, "a", [started("old"), evaluated(0), log(1, 9), log(2, 8)]);
  const second = createJob(project, "a", [started("new", first.job.id, 1), log(2, 7), log(3, 6)]);
  const third = createJob(project, "a", [started("new", second.job.id, 2), log(3, 5)]);
  await runKit(project, ["jobs", "--tensorboard", "runs"]);
  const { curves } = readCurves(join(project, "runs", third.job.id));
  const trained = [
    [1, 9],
    [2, 7],
    [3, 5],
  ];
  const heldOut = trained.slice(1);
  expect(curves).toEqual({
    ...{ "train/loss": trained, "train/margins": trained },
    ...{ "eval/loss": heldOut, "eval/margins": heldOut },
  });
});

const REPORTED = {
  reportTo: "tensorboard",
  ...{ maxSteps: 40, saveSteps: 20, evalSplit: 0.25 },
  evaluate: { metrics: { "is-empty": ({ output }) => output === "" } },
} satisfies Partial<TrainerOptions>;

test("reportTo writes the log of a running job, and a resumed one begins with what it inherits", async () => {
  const project = enterProject();
  const seen: unknown[] = [];
  const first = createTinyTrainer({
    ...REPORTED,
    callbacks: {
      onCheckpoint({ job, step }) {
        seen.push(readCurves(join(project, ".kit/jobs", job.id, "tensorboard")).curves);
        if (step === 20) throw new Error("stop here");
      },
    },
  });
  const { jobId } = await first.start();
  await expect(first.wait()).rejects.toThrow("stop here");
  expect(seen[0]).toHaveProperty("train/loss.19.0", 20);
  const directory = join(project, ".kit/jobs", jobId, "tensorboard");
  expect(readCurves(directory).curves).toEqual(loggedCurves(project, jobId));

  const second = createTinyTrainer({ ...REPORTED, resume: true });
  const resumed = await second.start();
  await second.wait();
  const curves = readCurves(join(project, ".kit/jobs", resumed.jobId, "tensorboard")).curves;
  const stepsOf = (tag: string) => curves[tag]?.map(([step]) => step);
  expect(stepsOf("train/loss")).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  expect(stepsOf("evaluate/is-empty")).toEqual([0, 20, 40]);
});

test("files that can't be written are noted once, and don't end the job", () => {
  const project = createProject();
  const { job, directory } = createJob(project, "dates", [STARTED]);
  writeFileSync(join(directory, "tensorboard"), "a file");
  const notes: string[] = [];
  const observer = createTensorBoard((text) => notes.push(text));
  observer.onCreated?.({ job, directory, config: CONFIG, fail() {} });
  observer.onEvent?.(STARTED);
  observer.onEvent?.(evaluated(2));
  expect(notes).toEqual([expect.stringMatching(/^warning: no more files for TensorBoard: EEXIST/)]);
});
