import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { waitForTurn } from "../../jobs/queue.ts";
import { createJobStore } from "../../jobs/store.ts";
import { STARTED, createForeignJob, createJob } from "../jobs.ts";
import {
  type Command,
  GATED,
  createTinyProject,
  openGate,
  runKit,
  startKit,
  tinySource,
} from "../kit.ts";
import { createProject } from "../project.ts";
import { createHarm } from "./harm.ts";
import { LONGER, repeated } from "./table.ts";

async function createGatedProject(): Promise<string> {
  const options = "callbacks: { onStarted: gate },";
  const project = createTinyProject(tinySource({ before: GATED, options }));
  await runKit(project, ["build"]);
  return project;
}

interface Started extends Command {
  id: string;
}

async function start(project: string): Promise<Started> {
  const command = startKit(project, ["start"]);
  const [, id = ""] = /^job (\S+) /.exec(await command.printed(/^job .*\n/)) ?? [];
  return { ...command, id };
}

interface TimedEvent {
  event: string;
  time: string;
}

function eventsOf(project: string, id: string): TimedEvent[] {
  const log = readFileSync(join(project, ".kit/jobs", id, "events.ndjson"), "utf8");
  const lines = log.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as TimedEvent);
}

const statuses = (project: string) =>
  createJobStore(project)
    .list()
    .map(({ status }) => status)
    .sort();

test("of three that start at once one trains at a time, and those that wait go by age", async () => {
  const harm = createHarm("Three `kit start` at once");
  for (let n = 0; n < LONGER; n++) {
    const project = await createGatedProject();
    const all = await Promise.all([start(project), start(project), start(project)]);
    const first = await Promise.race(
      all.map((command) => command.printed(/\ntraining /).then(() => command)),
    );
    const waiting = all.filter((command) => command !== first);
    const line = new RegExp(`\nwaiting for job ${first.id} tiny\n`);
    await Promise.all(waiting.map(({ printed }) => printed(line)));
    harm.status(statuses(project), ["queued", "queued", "running"]);
    openGate(project);
    const codes = (await Promise.all(all.map(({ ended }) => ended))).map(({ code }) => code);
    harm.status(codes, [0, 0, 0]);
    harm.status(statuses(project), ["completed", "completed", "completed"]);
    const order = [first.id, ...waiting.map(({ id }) => id).sort()];
    const spans = order.map((id) => eventsOf(project, id).map(({ time }) => time));
    // One begins when the one before it has ended.
    harm.also(spans.flat(), [...spans.flat()].sort());
    for (const id of order) {
      const names = eventsOf(project, id).map(({ event }) => event);
      harm.also(names.filter((name) => name === "training.started").length, 1);
    }
  }
  harm.expectNone();
});

test("a job starts at its first check after the one before it was killed", async () => {
  const harm = createHarm("First job in the queue killed (SIGKILL)");
  await Promise.all(
    Array.from({ length: repeated(5) }, async () => {
      const project = createProject();
      const { owner } = await createForeignJob(project, [STARTED]);
      const store = createJobStore(project);
      const job = createJob(project, "next");
      let isDead = false;
      let checks = 0;
      const list = () => {
        if (isDead) checks++;
        return store.list();
      };
      let turn: Promise<void> | undefined;
      await new Promise<void>((resolve) => {
        const waits = () => resolve();
        turn = waitForTurn({ ...store, list }, job, new AbortController().signal, waits);
      });
      await owner.kill();
      isDead = true;
      await turn;
      // It checks, claims its turn, and checks again.
      harm.status(checks <= 2, true);
      harm.also(store.get(job.job.id)?.job.status, "running");
    }),
  );
  const project = await createGatedProject();
  const first = await start(project);
  await first.printed(/\ntraining /);
  const second = await start(project);
  await second.printed(/\nwaiting /);
  first.child.kill("SIGKILL");
  await second.printed(/\ntraining /);
  harm.status(statuses(project), ["failed", "running"]);
  openGate(project);
  harm.also((await second.ended).code, 0);
  harm.expectNone();
});

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

test("a job that is cancelled in the queue leaves it, and the next one goes on", async () => {
  const harm = createHarm("Job cancelled in the queue");
  for (const signal of LONGER > 1 ? SIGNALS : SIGNALS.slice(0, 1)) {
    const project = await createGatedProject();
    const first = await start(project);
    await first.printed(/\ntraining /);
    const second = await start(project);
    await second.printed(/\nwaiting /);
    const third = await start(project);
    await third.printed(/\nwaiting /);
    second.child.kill(signal);
    harm.status((await second.ended).code, 130);
    harm.also(statuses(project), ["cancelled", "queued", "running"]);
    openGate(project);
    const codes = (await Promise.all([first.ended, third.ended])).map(({ code }) => code);
    harm.also(codes, [0, 0]);
    const names = eventsOf(project, second.id).map(({ event }) => event);
    harm.events(names, ["training.cancelled"]);
  }
  harm.expectNone();
});
