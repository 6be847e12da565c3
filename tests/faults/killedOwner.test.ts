import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitForTurn } from "../../jobs/queue.ts";
import { OWNER_GONE } from "../../jobs/status.ts";
import { createJobStore } from "../../jobs/store.ts";
import { followLog } from "../followLog.ts";
import { COMPLETED, CONFIG, STARTED, createJob } from "../jobs.ts";
import { ENDLESS, createTinyProject, startKit, tinySource } from "../kit.ts";
import { spawnModule } from "../process.ts";
import { createProject } from "../project.ts";
import { createHarm } from "./harm.ts";
import { createRandom } from "./random.ts";
import { LONGER, repeated } from "./table.ts";

/** A trainer with an engine that only talks; prints the job's id and what a callback sees. */
const OWNER = `
const [{ createTrainer }, { writeSync }] = await Promise.all([dist("sdk/index.js"), import("node:fs")]);
// It would go on for ever if the tests ended before they could kill it.
process.stdin.once("end", () => process.exit()).resume().unref();
const [project, config] = process.argv.slice(1);
process.chdir(project);
const unused = () => Promise.reject(new Error("unused"));
const trainer = createTrainer({
  name: "killed",
  model: "kit/nano",
  dataset: [{ text: "unused" }],
  callbacks: { onLog: ({ step }) => void writeSync(1, step + "\\n") },
  engine: {
    name: "talking",
    prepare: ({ dataset }) => ({ ...JSON.parse(config), dataset }),
    ...{ check: unused, load: unused },
    async train({ onEvent }) {
      for (let step = 1; ; step++) {
        const padding = "x".repeat(step % 7 === 0 ? 60_000 : step % 100);
        onEvent({ event: "training.log", data: { step, loss: 1, padding } });
        await new Promise(setImmediate);
      }
    },
  },
});
writeSync(1, (await trainer.start()).jobId + "\\n");
await trainer.wait();`;

const LANES = 4;
const MOST_LINES = 60;
const BOOT_MS = 150;
const KILLS = repeated(200);

test(
  "an owner that is killed at any instant has logged all that a callback had seen",
  async () => {
    const harm = createHarm("Owner killed at a random moment while its log is read");
    const random = createRandom();
    const kills = Array.from({ length: KILLS }, (_, n) => n).values();
    const lane = async () => {
      const project = createProject();
      const store = createJobStore(project);
      for (const n of kills) {
        const owner = spawnModule(OWNER, [project, JSON.stringify(CONFIG)]);
        const isEarly = n % 10 === 0;
        if (isEarly) {
          // While it starts, creates its job, or has just begun.
          await delay(random() * BOOT_MS);
          await owner.kill();
        }
        const id = await owner.line();
        if (isEarly && id === "undefined") {
          harm.status(
            store.list().every(({ status }) => status === "failed"),
            true,
          );
          continue;
        }
        const ended = () => store.leaseOf(id) === "gone";
        const reading = collectSteps(store.logPath(id), ended);
        const seen: number[] = [];
        const most = random() * MOST_LINES;
        while (seen.length < most) {
          const line = await owner.line();
          if (isEarly && line === "undefined") break;
          // Only we end it.
          expect(line).not.toBe("undefined");
          seen.push(Number(line));
        }
        await owner.kill();
        for (let line = await owner.line(); line !== "undefined"; line = await owner.line()) {
          seen.push(Number(line));
        }
        const steps = await reading;
        harm.events(steps, seen);
        harm.status(store.get(id), {
          job: expect.objectContaining({ status: "failed" }),
          error: OWNER_GONE,
        });
        // Whole and in order: a torn record would leave a gap, or not be one of these.
        harm.also(
          steps,
          steps.map((_, index) => index + 1),
        );
      }
      const next = createJob(project, "next");
      await waitForTurn(store, next, AbortSignal.timeout(10_000));
      next.append(STARTED);
      next.append(COMPLETED);
      harm.also(store.get(next.job.id)?.job.status, "completed");
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    expect(harm.row.times).toBe(KILLS);
    harm.expectNone();
  },
  // So many processes are started, on a machine that may be busy.
  180_000 * LONGER,
);

async function collectSteps(path: string, ended: () => boolean): Promise<number[]> {
  const steps: number[] = [];
  for await (const records of followLog(path, { ended })) {
    for (const { record } of records) {
      const { step, padding } = record.data as { step: number; padding: string };
      const isWhole = padding.length === (step % 7 === 0 ? 60_000 : step % 100);
      steps.push(isWhole ? step : -1);
    }
  }
  return steps;
}

test("a real training that is killed has logged all that its callbacks had seen", async () => {
  const harm = createHarm("`kit start` killed during training");
  const random = createRandom();
  const before = `import { writeSync } from "node:fs";`;
  const options = `${ENDLESS} loggingSteps: 1, callbacks: { onLog: ({ step }) => void writeSync(1, "seen " + step + "\\n") },`;
  const project = createTinyProject(tinySource({ before, options }));
  for (let n = 0; n < 2 * LONGER; n++) {
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(new RegExp(`seen ${1 + Math.floor(random() * 40)}\n`));
    child.kill("SIGKILL");
    const { stdout } = await ended;
    const [, id = ""] = /^job (\S+)/.exec(stdout) ?? [];
    const store = createJobStore(project);
    const steps: number[] = [];
    for await (const records of followLog(store.logPath(id), { ended: () => true })) {
      for (const { record } of records) {
        if (record.event === "training.log") steps.push((record.data as { step: number }).step);
      }
    }
    harm.events(
      steps,
      [...stdout.matchAll(/^seen (\d+)$/gm)].map(([, step]) => Number(step)),
    );
    harm.status(store.get(id)?.job.status, "failed");
  }
  harm.expectNone();
});
