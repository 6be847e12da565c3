import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readLog } from "../../jobs/log/read.ts";
import { createJobStore } from "../../jobs/store.ts";
import { emptyDisk, fillDisk, makeReadOnly, mountDisk } from "../disk.ts";
import { COMPLETED, STARTED, createJob } from "../jobs.ts";
import { ENDLESS, createTinyProject, remoteSource, runKit, startKit, tinySource } from "../kit.ts";
import { openRemote } from "../remoteEngine.ts";
import { errorOf, startServer } from "../uiServer.ts";
import { listJobs, streamOf } from "./answers.ts";
import { createHarm } from "./harm.ts";

/** A project whose `.kit` is a small disk of its own, with a bundle and a finished job. */
async function createProjectOnDisk(source: string) {
  const project = createTinyProject(source);
  const kit = join(project, ".kit");
  mountDisk(kit, 1024);
  await runKit(project, ["build"]);
  const { job, close } = createJob(project, "good", [STARTED, COMPLETED]);
  // A disk with a file that is open to be written does not become read-only.
  close();
  return { project, kit, good: job.id };
}

const NO_ROOM = "ENOSPC: no space left on device";
const READ_ONLY = "EROFS: read-only file system";

test.each([
  ["full", fillDisk, NO_ROOM],
  ["read-only", makeReadOnly, READ_ONLY],
] as const)("where .kit is %s, the error says so, and the jobs are listed", async (...args) => {
  const [name, breakDisk, cause] = args;
  const harm = createHarm(`\`.kit\` on a ${name} disk`);
  const { project, kit, good } = await createProjectOnDisk(tinySource());
  breakDisk(kit);
  const server = await startServer({ project });
  for (const command of ["start", "build"]) {
    const { code, stdout, stderr } = await runKit(project, [command]);
    harm.status({ code, stdout }, { code: 1, stdout: "" });
    const sentence = `^kit: Cannot (create a job in|write) \\S+: ${cause}.*, or free disk space\\.\n$`;
    harm.also(stderr, expect.stringMatching(new RegExp(sentence)));
  }
  const response = await fetch(`${server.url}api/train`, { method: "POST" });
  harm.also(response.ok, false);
  harm.also(await errorOf(response), expect.stringContaining(cause));
  harm.also(await listJobs(server.url), { [good]: "completed" });
  harm.also(await streamOf(server.url, good), ["training.started", "training.completed", "end"]);
  harm.expectNone();
});

test("a disk that becomes full while a job trains fails it, and says so once", async () => {
  const harm = createHarm("Disk of `.kit` fills up during training");
  const options = `${ENDLESS} loggingSteps: 1,`;
  const { project, kit, good } = await createProjectOnDisk(tinySource({ options }));
  const { printed, ended } = startKit(project, ["start"]);
  await printed(/step +1\//);
  fillDisk(kit);
  const { code, stderr } = await ended;
  harm.status(code, 1);
  harm.also(
    stderr,
    expect.stringMatching(/^kit: Cannot write .*(no space left|disk is full).* [Ff]ree .*\.\n$/),
  );
  const jobs = createJobStore(project).list();
  harm.also(jobs.map(({ status }) => status).sort(), ["completed", "failed"]);
  harm.also(createJobStore(project).get(good)?.job.status, "completed");
  harm.expectNone();
});

test("a disk that becomes full lets a job elsewhere go on, whose events come once there is room", async () => {
  const harm = createHarm("Disk of `.kit` fills up while a job trains elsewhere");
  const options = "maxSteps: 200, saveSteps: 100,";
  const { project, kit } = await createProjectOnDisk(remoteSource({ options }));
  const far = openRemote(join(project, "far"));
  far.train(1);
  const { printed, ended } = startKit(project, ["start"]);
  await printed(/step +1\//);
  fillDisk(kit);
  far.train(199);
  const { code, stderr } = await ended;
  harm.status(code, 1);
  const jobs = createJobStore(project);
  const { id = "", status, lastHeardAt } = jobs.list()[0] ?? {};
  const sentence = `^kit: Cannot write .*(no space left|disk is full).* [Ff]ree .*\\. Then run npx kit attach ${id} to follow the job again; it is still running on the far cluster\\.\n$`;
  harm.also(stderr, expect.stringMatching(new RegExp(sentence)));
  harm.also([status, typeof lastHeardAt, far.isStopped(id)], ["running", "string", false]);
  const refused = await runKit(project, ["attach", id]);
  harm.also(
    [refused.code, refused.stderr],
    [1, expect.stringMatching(/^kit: Cannot write \S+: ENOSPC.*, or free disk space\.\n$/)],
  );
  emptyDisk(kit);
  far.train(200);
  harm.also((await runKit(project, ["attach", id])).code, 0);
  harm.also(jobs.get(id)?.job.status, "completed");
  const logs = [...readLog(dirname(jobs.logPath(id)))].filter(
    ({ event }) => event === "training.log",
  );
  const steps = logs.map(({ data }) => (data as { step: number }).step);
  harm.events(
    steps,
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
  harm.expectNone();
});
