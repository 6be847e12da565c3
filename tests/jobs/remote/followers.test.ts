import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFollower } from "../../../jobs/remote/follower.ts";
import type { RunLease } from "../../../jobs/runLease.ts";
import { createJobStore } from "../../../jobs/store.ts";
import { RUN_HEADER, RUN_STATUS_HEADER } from "../../../protocol/http.ts";
import { startKitUi } from "../../e2e/kitUi.ts";
import { createFarJob, createJob, placeJob } from "../../jobs.ts";
import { createTinyProject, remoteSource, runKit } from "../../kit.ts";
import { isRunning } from "../../process.ts";
import { createProject } from "../../project.ts";
import { openRemote } from "../../remoteEngine.ts";
import { attach, outputLog, pidIn, postTrain, recordPath } from "../../server/standInRun.ts";
import { readBody, standIn, startServer } from "../../uiServer.ts";

const LOOK = { pollMs: 50 };

/** A project with a job that runs in a folder beside it, and that nobody follows. */
async function createLeftJob() {
  const project = createTinyProject(remoteSource());
  const far = openRemote(join(project, "far"));
  far.train(1);
  await runKit(project, ["start", "--detach"]);
  const job = () => createJobStore(project).list().at(-1);
  const id = job()?.id ?? "";
  const logged = () => readFileSync(createJobStore(project).logPath(id), "utf8").match(/"event"/g);
  return { project, far, job, id, logged };
}

test("kit ui follows a job that nobody follows to its end, and a second one only reads", async () => {
  const { project, far, job, id, logged } = await createLeftJob();
  const notes: string[] = [];
  const onNote = (text: string) => notes.push(text);
  await Promise.all([1, 2].map(() => startServer({ project, onNote, ...LOOK })));
  await expect.poll(logged).toHaveLength(2);
  await expect.poll(() => notes).toEqual([`job ${id} attached to the job on the far cluster`]);
  expect(job()).toEqual(expect.not.objectContaining({ lastHeardAt: expect.any(String) }));
  far.train(4);
  await expect.poll(() => job()?.status).toBe("completed");
  await expect.poll(() => notes).toHaveLength(2);
  expect(notes[1]).toMatch(/^job \S+ completed in /);
});

test("kit ui leaves its jobs when it ends, says so, and the next one follows them again", async () => {
  const { project, far, job, id, logged } = await createLeftJob();
  for (const step of [1, 2]) {
    const ui = await startKitUi(project);
    far.train(step);
    await expect.poll(logged).toHaveLength(step === 1 ? 2 : 4);
    // As Ctrl-C in its terminal does.
    process.kill(-(ui.process.pid ?? 0), "SIGINT");
    const { stdout, stderr } = await ui.ended;
    expect(stderr).toBe("");
    expect(stdout).toContain(
      `\njob ${id} keeps training on the far cluster; the next kit ui follows it again\n`,
    );
    expect(job()).toMatchObject({ status: "running", lastHeardAt: expect.any(String) });
    expect(far.isStopped(id)).toBe(false);
  }
});

test("the button starts a run beside a job that is followed, and the run's job outlives kit ui, too", async () => {
  const { project, job, logged } = await createLeftJob();
  const notes: string[] = [];
  const { url, close } = await startServer({
    project,
    onNote: (text) => notes.push(text),
    ...LOOK,
  });
  await expect.poll(logged).toHaveLength(2);
  const output = readBody(await postTrain(url));
  await output.until((text) => text.includes("step 1/4 "));
  await close();
  expect(String(await output.all())).toMatch(
    /\ndetached: job \S+ keeps training on the far cluster/,
  );
  const jobs = createJobStore(project).list();
  expect(jobs).toMatchObject(
    [1, 2].map(() => ({
      status: "running",
      lastHeardAt: job()?.lastHeardAt && (expect.any(String) as string),
    })),
  );
  expect(notes.filter((note) => note.includes("keeps training")).toSorted()).toEqual(
    jobs
      .map(
        ({ id }) => `job ${id} keeps training on the far cluster; the next kit ui follows it again`,
      )
      .toSorted(),
  );
});

/** How a run comes to be left on other machines, before its kit ui ends. */
const LEAVINGS = {
  "left when it ended": () => {},
  "had to kill as nothing answered": ({ far }) => far.hang(),
  "lost to kill -9": async ({ project }) => {
    const { owner } = JSON.parse(readFileSync(recordPath(project), "utf8")) as RunLease;
    process.kill(owner.pid, "SIGKILL");
    await expect.poll(() => isRunning(owner.pid)).toBe(false);
  },
} satisfies Record<string, (run: LeavingRun) => void | Promise<void>>;

interface LeavingRun {
  project: string;
  far: ReturnType<typeof openRemote>;
}

/** A project whose last run is on other machines; the kit ui that started it has ended. */
async function createLeftRun(leaving: keyof typeof LEAVINGS = "left when it ended") {
  // As if the job had ended.
  const print = 'console.log("called " + step + "\\nfailed: not at all\\nkit: no error")';
  const options = `callbacks: { onLog: ({ step }) => ${print} },`;
  const project = createTinyProject(remoteSource({ options }));
  const far = openRemote(join(project, "far"));
  far.train(1);
  const { url, close } = await startServer({ project, ...LOOK, graceMs: 1_000 });
  const answer = await postTrain(url);
  const output = readBody(answer);
  await output.until((text) => text.includes("\ncalled 1\n"));
  await LEAVINGS[leaving]({ project, far });
  await close();
  far.answer();
  return { project, far, run: answer.headers.get(RUN_HEADER), before: String(outputLog(project)) };
}

const statusOf = ({ headers }: Response) => headers.get(RUN_STATUS_HEADER);

test.each(Object.keys(LEAVINGS) as (keyof typeof LEAVINGS)[])(
  "the next kit ui goes on with the run that the last one %s: its output, callbacks' too, and its end",
  async (leaving) => {
    const { project, far, run, before } = await createLeftRun(leaving);
    const notes: string[] = [];
    const { url } = await startServer({ project, onNote: (text) => notes.push(text), ...LOOK });
    const rest = await attach(url);
    expect([rest.headers.get(RUN_HEADER), statusOf(rest)]).toEqual([run, "running"]);
    expect((await postTrain(url)).status).toBe(409);
    far.train(4);
    const all = String(await readBody(rest).all());
    expect(all.startsWith(before)).toBe(true);
    expect(all.slice(before.length)).toMatch(
      /^job \S+ tiny\nattached to the job on the far cluster after step 1\n[^]*\ncalled 2\n[^]*\n\x1b\[1mcompleted in /,
    );
    expect(notes).toEqual([
      expect.stringMatching(/^job \S+ attached to the job on the far cluster after step 1$/),
      expect.stringMatching(/^job \S+ completed in /),
    ]);
    const after = await attach(url);
    expect(statusOf(after)).toBe("completed");
    expect(await after.text()).toBe(all);
  },
);

test("a left run whose job is out of reach has ended: nothing is added to its output, and another can start", async () => {
  const { project, far, before } = await createLeftRun();
  const id = createJobStore(project).list()[0]?.id;
  far.lose();
  const notes: string[] = [];
  const { url } = await startServer({ project, onNote: (text) => notes.push(text), ...LOOK });
  expect(await (await attach(url)).text()).toBe(before);
  expect(notes).toEqual([`job ${id} Nothing answers.`]);
  expect(statusOf(await attach(url))).toBe("detached");
  const next = await postTrain(url);
  expect(next.status).toBe(200);
  await next.text();
});

test("kit ui tries again with pauses that grow, and says why once", async () => {
  const project = createProject();
  const job = createJob(project);
  placeJob(job);
  job.close();
  const kit = standIn(
    project,
    `import { appendFileSync } from "node:fs";
     appendFileSync("tries", Date.now() + "\\n");
     process.send({ kind: "refused", text: "Nothing answers." });
     process.exitCode = 1;`,
  );
  const notes: string[] = [];
  await startServer({ project, kit, onNote: (text) => notes.push(text), ...LOOK });
  const times = () => readFileSync(join(project, "tries"), "utf8").trim().split("\n").map(Number);
  await expect.poll(() => times().length).toBe(5);
  const gaps = times().flatMap((at, n, all) => (n === 0 ? [] : [at - (all[n - 1] ?? 0)]));
  // A try takes some time itself.
  for (const [n, gap] of gaps.entries()) expect(gap).toBeGreaterThan(LOOK.pollMs * 2 ** (n + 1));
  expect(notes).toEqual([`job ${job.job.id} Nothing answers.`]);
});

test("kit ui kills a follower that does not leave its job in time", async () => {
  const project = createProject();
  const job = createFarJob(project);
  placeJob(job);
  job.close();
  const kit = standIn(
    project,
    `process.on("SIGTERM", () => process.send({ kind: "warning", text: "warning: no" }));
     writeFileSync("pid", String(process.pid));
     process.send({ kind: "attached", text: "attached to the job" });
     await gate("never");`,
  );
  const notes: string[] = [];
  const onNote = (text: string) => notes.push(text);
  const { close } = await startServer({ project, kit, onNote, ...LOOK, graceMs: 100 });
  await expect.poll(() => notes).toEqual([`job ${job.job.id} attached to the job`]);
  const pid = pidIn(project, "pid");
  expect(isRunning(pid)).toBe(true);
  await close();
  expect(isRunning(pid)).toBe(false);
});

test("a follower that prints much before it is attached fills no memory: the end of it is kept, and it is told", async () => {
  const project = createProject();
  const kit = standIn(
    project,
    `for (let n = 0; n < 320; n++) writeSync(1, Buffer.alloc(65_536, "x"));
     writeSync(1, "\\nthe newest line\\n");
     process.send({ kind: "attached", text: "attached to the job" });
     process.disconnect();`,
  );
  const path = join(project, "output.log");
  const output = { path, env: process.env };
  const onMessage = () => {};
  await startFollower({ project, kit, id: "20260101-000000-abcdef", onMessage, output }).ended;
  expect(statSync(path).size).toBeLessThan(2 * 1_048_576);
  const recorded = readFileSync(path, "utf8");
  expect(recorded).toMatch(/^kit: dropped the first [\d.]+ MB that kit attach printed\nx/);
  expect(recorded).toMatch(/x\nthe newest line\n$/);
});
