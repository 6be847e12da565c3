import { expect, test } from "vitest";
import { createPacedEngine } from "../pacedEngine.ts";
import { createProject } from "../project.ts";
import { createRemoteEngine, openRemote } from "../remoteEngine.ts";
import { ENDLESS, awaited, createTinyTrainer, enterProject, statusOf } from "./project.ts";

test("a job that runs elsewhere waits for no job of this machine, nor holds one up while it is sent", async () => {
  const project = enterProject();
  const folder = createProject();
  const there = openRemote(folder);
  there.hold();
  there.train(4);
  const engine = createRemoteEngine(folder);
  const sent = createTinyTrainer({ engine });
  const { jobId } = await sent.start();
  const { call: begun, callback: onLog } = awaited();
  const near = createTinyTrainer({ ...ENDLESS, engine: createPacedEngine(), callbacks: { onLog } });
  await near.start();
  await begun;
  expect(statusOf(project, jobId)?.job.status).toBe("running");
  there.letArrive();
  const next = createTinyTrainer({ engine });
  const ended = await Promise.all([sent.wait(), next.wait()]);
  expect(ended.map(({ job }) => job.status)).toEqual(["completed", "completed"]);
  await near.cancel();
});
