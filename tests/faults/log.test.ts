import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import type { EventData, JobEvent } from "../../protocol/event.ts";
import { runJob } from "../../sdk/job/runJob.ts";
import { COMPLETED, STARTED, appendRaw, createJob, logged } from "../jobs.ts";
import { createTinyProject, pacedSource, runKit, startKit, tinySource } from "../kit.ts";
import { runOptions } from "../sdk/runOptions.ts";
import { parseFrames, readBody, startServer } from "../uiServer.ts";
import { listJobs, streamOf } from "./answers.ts";
import { createHarm } from "./harm.ts";

const LONG = "x".repeat(1_000_000);
const END: JobEvent[] = [logged(2), COMPLETED];

/** The damage between the log's first two events and its last two, and the lines that survive. */
const DAMAGES: [string, (job: ReturnType<typeof createJob>) => void, string[]][] = [
  ["a junk line", (job) => appendRaw(job, "junk\n\0\0\n[]\n{}\n"), []],
  [
    "lines of other events",
    (job) => appendRaw(job, '{"event":"evil\\nevent: end","data":1}\n{"event":"end"}\n'),
    [],
  ],
  ["a line of 1 MB that is none", (job) => appendRaw(job, `${LONG}\n`), []],
  [
    "a record of 1 MB",
    (job) => appendRaw(job, `{"event":"training.log","data":{"step":1,"loss":1,"x":"${LONG}"}}\n`),
    ["training.log"],
  ],
  ["a torn line, closed off", (job) => appendRaw(job, `{"event":"training.l\n`), []],
];

test("a damaged log loses only its damaged lines, and hides no other job", async () => {
  const harm = createHarm(
    "Log or `job.json` torn, full of junk, oversized, empty, truncated or deleted",
  );
  const server = await startServer();
  const { project } = server;
  const good = createJob(project, "good", [STARTED, COMPLETED]);
  const begun = ["training.started", "training.log"];
  for (const [, damage, left] of DAMAGES) {
    const job = createJob(project, "damaged", [STARTED, logged(1)]);
    damage(job);
    harm.status((await listJobs(server.url))[job.job.id], "running");
    END.forEach(job.append);
    harm.also((await listJobs(server.url))[job.job.id], "completed");
    harm.also(await streamOf(server.url, job.job.id), [
      ...[...begun, ...left],
      ...["training.log", "training.completed", "end"],
    ]);
  }
  const torn = createJob(project, "torn", [STARTED, logged(1), COMPLETED]);
  appendRaw(torn, '{"event":"training.failed","da');
  harm.status((await listJobs(server.url))[torn.job.id], "completed");
  harm.also(await streamOf(server.url, torn.job.id), [...begun, "training.completed", "end"]);

  const empty = createJob(project, "empty");
  harm.status((await listJobs(server.url))[empty.job.id], "queued");

  const cut = createJob(project, "cut", [STARTED]);
  truncateSync(join(cut.directory, "job.json"), 20);
  harm.status((await listJobs(server.url))[cut.job.id], undefined);
  harm.also((await fetch(`${server.url}api/jobs/${cut.job.id}/events`)).status, 404);

  const deleted = createJob(project, "deleted", [STARTED]);
  const body = readBody(await fetch(`${server.url}api/jobs/${deleted.job.id}/events`));
  await body.until((text) => text.includes("training.started"));
  rmSync(deleted.directory, { recursive: true });
  const frames = parseFrames(String(await body.all()));
  harm.status(frames.at(-1)?.event, "end");
  harm.also((await listJobs(server.url))[deleted.job.id], undefined);
  expect(() => deleted.append(logged(1))).toThrow(/was deleted while its job was running/);

  harm.also((await listJobs(server.url))[good.job.id], "completed");
  harm.expectNone();
});

test("a job whose folder is deleted ends, and says so", async () => {
  const harm = createHarm("Job's folder deleted during training");
  const project = createTinyProject(pacedSource());
  const { printed, ended } = startKit(project, ["start"]);
  await printed(/step +50\//);
  rmSync(join(project, ".kit/jobs"), { recursive: true });
  const { code, stderr } = await ended;
  harm.status(code, 1);
  harm.also(stderr, expect.stringMatching(/^kit: \S+events\.ndjson was deleted while .*\n$/));
  harm.also(createJobStore(project).list(), []);
  harm.expectNone();
});

test("losses that are not numbers and steps that go back are logged and streamed unchanged", async () => {
  const harm = createHarm("Loss of NaN or ±Infinity, steps out of order");
  const server = await startServer();
  const job = createJob(server.project, "odd");
  const logs = [1, NaN, Infinity, -Infinity, 0.5].map((loss, n) => ({
    step: [5, 6, 3, 1, 2][n]!,
    loss,
  }));
  const seen: number[] = [];
  const { job: ended } = await runJob({
    owned: job,
    callbacks: { onLog: ({ step, loss }) => void seen.push(step, loss) },
    ...runOptions({
      name: "mine",
      load: () => Promise.reject(new Error("unused")),
      train({ onEvent }) {
        onEvent(STARTED as never);
        for (const data of logs) onEvent({ event: "training.log", data });
        onEvent({
          event: "checkpoint.saved",
          data: { step: 1, kind: "model", path: "artifacts/step-1" },
        });
        return Promise.resolve();
      },
    }),
  });
  harm.status(ended.status, "completed");
  const nulled = logs.map(({ step, loss }) => ({
    step,
    loss: Number.isFinite(loss) ? loss : null,
  }));
  const body = readBody(await fetch(`${server.url}api/jobs/${job.job.id}/events`));
  const frames = parseFrames(String(await body.all())).filter(
    ({ event }) => event === "training.log",
  );
  const streamed = frames.map(({ data = "" }) => JSON.parse(data) as EventData["training.log"]);
  harm.also(streamed, nulled);
  harm.events(
    streamed.map((data) => JSON.stringify(data)),
    nulled.map((data) => JSON.stringify(data)),
  );
  harm.also(seen.length, 2 * logs.length);

  const project = createTinyProject(tinySource({ options: "learningRate: 1e30, warmupSteps: 0," }));
  const { code, stderr } = await runKit(project, ["start"]);
  harm.status(code, 1);
  harm.also(stderr, expect.stringMatching(/^failed: Training diverged at step 2: /));
  harm.also(createJobStore(project).list()[0]?.status, "failed");
  harm.expectNone();
});
