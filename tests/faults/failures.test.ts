import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import type { Engine } from "../../protocol/engine.ts";
import { runJob } from "../../sdk/job/runJob.ts";
import { mountDisk } from "../disk.ts";
import { COMPLETED, STARTED, createJob } from "../jobs.ts";
import { type Ended, ENDLESS, createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";
import { runOptions } from "../sdk/runOptions.ts";
import { parseFrames, readBody, startServer } from "../uiServer.ts";
import { createHarm } from "./harm.ts";
import { LONGER } from "./table.ts";

type Harm = ReturnType<typeof createHarm>;

const callbacks = (code: string) => `callbacks: { ${code} },`;

/** Checks that the failure of a `kit start` is reported once everywhere, in the same words. */
async function expectFailure(
  harm: Harm,
  project: string,
  sentence: RegExp,
  run: Promise<Ended>,
): Promise<void> {
  const { code, stdout, stderr } = await run;
  harm.status(code, 1);
  harm.also(
    stderr,
    expect.stringMatching(
      /^failed: [^\n]+\n( {2}checkpoint {2}\S+\n)?( {2}at src\/kit\/index\.ts:\S+\n)?$/,
    ),
  );
  const told = /^failed: (.*)\n/.exec(stderr)?.[1] ?? "";
  harm.also(told, expect.stringMatching(sentence));
  const [, id = ""] = /^job (\S+)/.exec(stdout) ?? [];
  const state = createJobStore(project).get(id);
  harm.also([state?.job.status, state?.error], ["failed", told]);
  const log = readFileSync(join(project, ".kit/jobs", id, "events.ndjson"), "utf8");
  harm.row.doubled += (log.match(/"training\.failed"/g)?.length ?? 0) - 1;
  const server = await startServer({ project });
  const body = readBody(await fetch(`${server.url}api/jobs/${id}/events`));
  const frames = parseFrames(String(await body.all()));
  const failures = frames.filter(({ event }) => event === "training.failed");
  harm.also(
    failures.map(({ data = "" }) => JSON.parse(data) as unknown),
    [{ error: told }],
  );
  harm.also(frames.at(-1)?.event, "end");
}

async function expectFailures(
  harm: Harm,
  cases: { source: string; sentence: RegExp }[],
): Promise<void> {
  const work = Array.from({ length: LONGER }, () => cases)
    .flat()
    .values();
  const worker = async () => {
    for (const { source, sentence } of work) {
      const project = createTinyProject(source);
      await expectFailure(harm, project, sentence, runKit(project, ["start"]));
    }
  };
  await Promise.all([worker(), worker()]);
  harm.expectNone();
}

test("a callback that throws fails its job with its message", async () => {
  const names = ["onStarted", "onLog", "onCheckpoint", "onCompleted"];
  const throwing = names.map((name) => ({
    source: tinySource({ options: callbacks(`${name}() { throw new Error("no ${name}"); }`) }),
    sentence: new RegExp(`^no ${name}$`),
  }));
  await expectFailures(createHarm("Callback throws"), throwing);
});

test("a callback that never returns fails its job, and the sentence names it", async () => {
  const harm = createHarm("Callback exceeds its time limit");
  const waits = "() => new Promise(() => {})";
  await expectFailures(createHarm("Callback never settles"), [
    {
      source: tinySource({ options: callbacks(`onCheckpoint: ${waits}`) }),
      sentence: /^onCheckpoint never returned\. Look for a promise in it that does not settle\.$/,
    },
  ]);
  const engine: Pick<Engine, "name" | "train" | "load"> = {
    name: "mine",
    load: () => Promise.reject(new Error("unused")),
    train({ onEvent }) {
      onEvent(STARTED as never);
      onEvent({
        event: "checkpoint.saved",
        data: { step: 1, kind: "model", path: "artifacts/step-1" },
      });
      return Promise.resolve();
    },
  };
  for (const name of ["onStarted", "onCompleted"] as const) {
    // Something else goes on meanwhile, so the process would wait for ever.
    const open = setInterval(() => {}, 1_000);
    const job = createJob(createProject(), "stuck");
    const failed: Error[] = [];
    const result = await runJob({
      owned: job,
      ...runOptions(engine),
      callbackLimitMs: 50,
      callbacks: {
        [name]: () => new Promise(() => {}),
        onFailed: ({ error }: { error: Error }) => void failed.push(error),
      },
    });
    clearInterval(open);
    harm.status(result.job.status, "failed");
    harm.also(result.error?.message, expect.stringContaining(`${name} never returned.`));
    harm.also(failed, [result.error]);
  }
  harm.expectNone();
});

test("code that ends the process fails its job, whatever exit code it wished", async () => {
  const exiting = [0, 3].map((code) => ({
    source: tinySource({ options: callbacks(`onLog() { process.exit(${code}); }`) }),
    sentence: new RegExp(
      `^The process ended with exit code ${code} before the job did\\. Remove the process\\.exit\\(\\)`,
    ),
  }));
  await expectFailures(createHarm("`process.exit()` in a callback"), exiting);
});

test("an engine that runs out of memory fails its job, and names the options to lower", async () => {
  const messages = Array.from({ length: 400_000 }, (_, turn) => ({
    role: turn % 2 === 0 ? "user" : "assistant",
    content: "y",
  }));
  const row = JSON.stringify({ messages });
  const harm = createHarm("Engine runs out of memory");
  for (let n = 0; n < LONGER; n++) {
    // A heap that is large enough for the command, and too small for the engine's row.
    const project = createTinyProject(tinySource(), { "data.jsonl": row });
    const sentence =
      /^The engine ran out of memory\. Use a smaller batchSize, maxLength or model\.$/;
    const env = { NODE_OPTIONS: "--max-old-space-size=140" };
    await expectFailure(harm, project, sentence, runKit(project, ["start"], env));
  }
  harm.expectNone();
});

test.each([
  ["a file is in the way", (folder: string) => writeFileSync(folder, ""), /EEXIST/],
  [
    "the disk is full",
    (folder: string) => mountDisk(folder, 16),
    /ENOSPC: no space left on device/,
  ],
  [
    "the disk is read-only",
    (folder: string) => mountDisk(folder, 16, "ro"),
    /EROFS: read-only file system/,
  ],
])("a checkpoint that cannot be saved for %s fails its job with where and why", async (...args) => {
  const [name, breakFolder, cause] = args;
  const harm = createHarm(`Checkpoint can't be saved: ${name}`);
  const project = createTinyProject();
  // It waits in the queue until its folder is broken.
  const ahead = createJob(project, "ahead", [STARTED]);
  const { printed, ended } = startKit(project, ["start"]);
  const [, id = ""] = /^job (\S+)/.exec(await printed(/\nwaiting for job /)) ?? [];
  const artifacts = join(project, ".kit/jobs", id, "artifacts");
  breakFolder(artifacts);
  ahead.append(COMPLETED);
  const sentence = new RegExp(
    `^Cannot save ${artifacts}/step-2: ${cause.source}.*\\. Make the folder writable, or free disk space\\.$`,
  );
  await expectFailure(harm, project, sentence, ended);
  const left = execFileSync("ls", ["-A", artifacts], { encoding: "utf8" });
  harm.also(left.replace(artifacts, "").trim(), "");
  harm.expectNone();
});

test("onFailed hears of a failure that the log could not take", async () => {
  const { append, ...job } = createJob(createProject(), "unwritable");
  const failed: string[] = [];
  const { job: ended } = await runJob({
    owned: {
      ...job,
      append(event) {
        if (event.event !== "training.started") throw new Error("no space left on device");
        append(event);
      },
    },
    ...runOptions({
      name: "mine",
      load: () => Promise.reject(new Error("unused")),
      train: () => Promise.reject(new Error("the cause")),
    }),
    callbacks: { onFailed: ({ error }) => void failed.push(error.message) },
  });
  expect(ended.status).toBe("failed");
  expect(failed).toEqual(["the cause"]);
});

test("a failure is reported once even if the last callback is interrupted", async () => {
  const hangs =
    "onStarted() { throw new Error('no'); }, onFailed: () => new Promise(() => setInterval(() => {}, 1_000))";
  const project = createTinyProject(tinySource({ options: ENDLESS + callbacks(hangs) }));
  const { child, printed, ended } = startKit(project, ["start"]);
  await printed(/failed: no\n/);
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 1, stderr: "failed: no\n" });
});
