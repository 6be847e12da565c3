import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createOwnedJob } from "../../../jobs/ownedJob.ts";
import { createJobStore } from "../../../jobs/store.ts";
import { startKitUi } from "../../e2e/kitUi.ts";
import { createHarm } from "../../faults/harm.ts";
import { CONFIG } from "../../jobs.ts";
import { ENDLESS, createTinyProject, runKit, startKit, tinySource } from "../../kit.ts";
import { readBody } from "../../uiServer.ts";
import { type Place, TOKEN } from "./environment.ts";
import { compareSteps, stepOf } from "./training.ts";

const ENV = { RAY_AUTH_TOKEN: TOKEN, OMP_NUM_THREADS: "1" };
const STEPS = 200;
const SIZE = `maxSteps: ${STEPS}, saveSteps: 50, learningRate: 0.01, warmupSteps: 2,
  callbacks: {
    onLog: ({ step }) => console.log("called " + step),
    onCheckpoint: ({ step }) => console.log("called checkpoint " + step),
  },`;

/** Jobs that outlive the process that began them. */
export function describeAttaching(at: () => Place): void {
  it("goes on when kit start is killed; kit attach adds what is missing, each step once", async () => {
    const harm = createHarm("Ray: `kit start` killed (SIGKILL), attached again");
    const { project, id, job, events, logged, kit } = createRayProject(at());
    const first = kit("start");
    await first.printed(/called checkpoint 50/);
    first.child.kill("SIGKILL");
    const before = calledIn((await first.ended).stdout);
    const known = events().length - 1;
    harm.status(job()?.status, "running");
    harm.also(typeof job()?.lastHeardAt, "string");
    const second = await kit("attach", "latest").ended;
    expect(second).toMatchObject({ code: 0, stderr: "" });
    harm.also(job()?.status, "completed");
    // Each but the start has a callback; a kill may come between a record and its callback.
    const after = calledIn(second.stdout);
    expect(after).toHaveLength(STEPS + 4 - known);
    harm.events([...before, ...after], []);
    const steps = logged();
    for (const step of [50, 100, 150, 200]) {
      expect(
        existsSync(join(project, ".kit/jobs", id(), `artifacts/step-${step}/config.json`)),
      ).toBe(true);
    }
    expect((await runKit(project, ["start", "src/kit/here.ts"], ENV)).code).toBe(0);
    compareSteps(harm, steps, logged());
    harm.expectNone();
  });

  it("is left with --detach, attached to, and cancelled there by Ctrl-C", async () => {
    const harm = createHarm("Ray: detached, attached to, cancelled by Ctrl-C");
    const { id, job, logged, kit, asked } = createRayProject(at(), `${SIZE} ${ENDLESS}`);
    const detached = await kit("start", "--detach").ended;
    expect(detached).toMatchObject({ code: 0, stderr: "" });
    expect(detached.stdout).toContain(
      `detached: job ${id()} keeps training on the Ray cluster at `,
    );
    harm.status(job()?.status, "running");
    harm.also(typeof job()?.lastHeardAt, "string");
    const { child, printed, ended } = kit("attach", id());
    await printed(/called 50\n/);
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
    harm.also(job()?.status, "cancelled");
    harm.also((await asked()).status, "STOPPED");
    expectEachOnce(logged(), harm);
  });

  it("outlives kit ui; the next one follows it, and kit cancel cancels it", async () => {
    const harm = createHarm("Ray: `kit ui` ended, the next one follows, cancelled by `kit cancel`");
    const { project, job, logged, kit } = createRayProject(at(), `${SIZE} ${ENDLESS}`);
    const first = await startKitUi(project, 0, { env: ENV });
    const run = readBody(await fetch(`${first.url}api/train`, { method: "POST" }));
    await run.until((text) => text.includes("called 50\n"));
    first.process.kill("SIGTERM");
    expect(String(await run.all())).toMatch(/\ndetached: job \S+ keeps training on /);
    const { stdout } = await first.ended;
    expect(stdout).toMatch(/\njob \S+ keeps training on the Ray cluster at \S+; the next kit ui /);
    harm.status(job()?.status, "running");
    harm.also(typeof job()?.lastHeardAt, "string");
    const known = logged().length;
    await startKitUi(project, 0, { env: ENV });
    await expect.poll(() => logged().length).toBeGreaterThan(known);
    expect((await kit("cancel", "latest").ended).code).toBe(0);
    expect(job()?.status).toBe("cancelled");
    expectEachOnce(logged(), harm);
  });

  it("fails in a sentence when the cluster that took it does not know it", async () => {
    const { project, id, job, kit } = createRayProject(at());
    const { address } = at().cluster;
    const config = { ...CONFIG, engine: { name: "ray", address } };
    const owned = createOwnedJob(project, "lost", config);
    const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
    const version = await (await fetch(`${address}/api/version`, { headers })).json();
    const { session_name: session } = version as { session_name: string };
    const where = `the Ray cluster at ${address}`;
    owned.recordRemote({ where, address, checkpoints: "/nowhere", session });
    owned.close();
    const { code, stderr } = await kit("attach", "latest").ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^failed: Job ${id()} is unknown to the Ray cluster at `));
    expect(job()?.status).toBe("failed");
  });
}

interface Logged {
  event: string;
  data: { step: number; loss: number };
}

/** Of an endless training: the first two steps, then every fiftieth. */
function expectEachOnce(logged: Logged["data"][], harm: ReturnType<typeof createHarm>): void {
  const steps = logged.map(stepOf);
  const later = Math.floor((steps.at(-1) ?? 0) / 50);
  harm.events(steps, [1, 2, ...Array.from({ length: later }, (_, n) => 50 * (n + 1))]);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  harm.expectNone();
}

const calledIn = (printed: string): string[] => printed.match(/^called .*$/gm) ?? [];

function createRayProject({ cluster: { address }, storage }: Place, options = SIZE) {
  const engine = `engine: ray(${JSON.stringify({ address, storage })}),`;
  const before = `import { ray } from "kit/engines";`;
  const files = { "src/kit/here.ts": tinySource({ options }) };
  const project = createTinyProject(tinySource({ before, options: options + engine }), files);
  const job = () => createJobStore(project).list()[0];
  const id = () => job()?.id ?? "";
  function events() {
    const log = readFileSync(join(project, ".kit/jobs", id(), "events.ndjson"), "utf8");
    const lines = log.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Logged);
  }
  return {
    project,
    job,
    id,
    kit: (...args: string[]) => startKit(project, args, ENV),
    events,
    /** The steps of the newest job's log. */
    logged: () =>
      events()
        .filter(({ event }) => event === "training.log")
        .map(({ data }) => data),
    /** What the cluster says of the job. */
    asked: async (): Promise<{ status?: string }> => {
      const headers = { authorization: `Bearer ${TOKEN}`, "user-agent": "kit" };
      const answer = await fetch(`${address}/api/jobs/${id()}`, { headers });
      const told = await answer.text();
      expect(told).not.toContain(TOKEN);
      return told.startsWith("{") ? (JSON.parse(told) as { status?: string }) : {};
    },
  };
}
