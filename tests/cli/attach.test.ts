import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { GATED, createTinyProject, openGate, remoteSource, runKit, startKit } from "../kit.ts";
import { openRemote } from "../remoteEngine.ts";

const CALLS = `callbacks: {
  onStarted: () => console.log("called started"),
  onLog: ({ step }) => console.log("called", step),
  onCheckpoint: ({ step }) => console.log("called checkpoint", step),
  onCompleted: ({ artifacts }) => console.log("called completed", artifacts.length),
},`;

/** A project whose trainings run in a folder beside it. */
function createFarProject(options = CALLS, before = "") {
  const project = createTinyProject(`${before}${remoteSource({ options })}`);
  const far = openRemote(join(project, "far"));
  const jobs = () => createJobStore(project).list();
  return {
    project,
    far,
    jobs,
    id: () => jobs()[0]?.id ?? "",
    /** The events of the newest job's log, a log by its step. */
    logged: () => {
      const [job] = jobs();
      const log = readFileSync(join(project, ".kit/jobs", job?.id ?? "", "events.ndjson"), "utf8");
      const records = log
        .trim()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { event: string; data: { step?: number } });
      return records.map(({ event, data }) =>
        `${event.replace(/^\w+\./, "")} ${data.step ?? ""}`.trim(),
      );
    },
    start: (...more: string[]) => startKit(project, ["start", ...more]),
    attach: (id = "latest") => startKit(project, ["attach", id]),
  };
}

const ALL = ["started", "log 1", "log 2", "saved 2", "log 3", "log 4", "saved 4", "completed"];
const calledIn = (printed: string) => printed.match(/(?<=^called ).*$/gm) ?? [];

describe("a job that runs elsewhere", () => {
  it("goes on when kit start is killed, and kit attach follows it from where its log ends", async () => {
    const { project, far, jobs, id, logged, start, attach } = createFarProject();
    far.train(2);
    const first = start();
    await first.printed(/called checkpoint 2/);
    first.child.kill("SIGKILL");
    const { stdout: before } = await first.ended;
    expect(jobs()).toMatchObject([{ status: "running", lastHeardAt: expect.any(String) }]);
    const location = readFileSync(join(project, ".kit/jobs", id(), "placement.json"), "utf8");
    expect(JSON.parse(location)).toEqual({
      where: "the far cluster",
      address: join(project, "far"),
      checkpoints: `/far/${id()}`,
    });
    far.train(4);
    const { code, stdout, stderr } = await attach().ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(
      `job ${id()} tiny\nattached to the job on the far cluster after step 2\n`,
    );
    expect(stdout).toMatch(/\ncompleted in \d+s: loss 0\.2500, best evalLoss 1\.0000 at step 2; /);
    expect(logged()).toEqual(ALL);
    expect(calledIn(before)).toEqual(["started", "1", "2", "checkpoint 2"]);
    expect(calledIn(stdout)).toEqual(["3", "4", "checkpoint 4", "completed 2"]);
    expect(jobs()).toMatchObject([{ status: "completed" }]);
  });

  it("is evaluated by whoever follows it: a checkpoint of meanwhile is asked at kit attach", async () => {
    const evaluate = `evalDataset: { path: "data.jsonl" }, evaluate: { rows: 1, metrics: {
      asked: ({ output }: { output: string }) => output.startsWith("step-") ? Number(output.slice(5)) : 0,
    } },`;
    const { far, logged, start, attach } = createFarProject(`${evaluate} ${CALLS}`);
    far.train(1);
    const left = await start("--detach").ended;
    expect(left).toMatchObject({ code: 0, stderr: "" });
    expect(left.stdout).toContain("\nevaluating the starting model on 1 of 8 held-out rows\n");
    expect(logged().filter((line) => line.startsWith("evaluated"))).toEqual([]);
    far.train(4);
    const { code, stdout, stderr } = await attach().ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.match(/^evaluated .*$/gm)).toEqual([
      "evaluated step 0: asked 0",
      "evaluated step 2: asked 2 (before 0)",
      "evaluated step 4: asked 4 (before 0)",
    ]);
  });

  it("is asked before the training by the embedded engine where its own needs what is not here", async () => {
    const evaluate = `evalDataset: { path: "data.jsonl" }, evaluate: { rows: 1, maxTokens: 2, metrics: {
      length: ({ output }: { output: string }) => output.length,
    } },`;
    const { far, start } = createFarProject(evaluate);
    far.refuseHere();
    far.train(4);
    const { code, stdout, stderr } = await start().ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(
      "\nthe embedded engine evaluates the starting model: There is no Python here.\n",
    );
    expect(stdout).toMatch(/^evaluated step 0: length [012]$/m);
    expect(stdout).toMatch(/^evaluated step 4: length 6 \(before [012]\)$/m);
  });

  it("is asked at kit attach what the process that died had not come to ask", async () => {
    const evaluate = `evalDataset: { path: "data.jsonl" }, evaluate: { rows: 1, metrics: {
      asked: async ({ output }: { output: string }) => {
        if (output === "step-2") await gate();
        return output.startsWith("step-") ? Number(output.slice(5)) : 0;
      },
    } },`;
    const { project, far, start, attach } = createFarProject(`${evaluate} ${CALLS}`, GATED);
    far.train(2);
    const first = start();
    await first.printed(/checkpoint .*step-2/);
    await first.printed(/evaluated step 0/);
    first.child.kill("SIGKILL");
    await first.ended;
    openGate(project);
    far.train(4);
    const { code, stdout } = await attach().ended;
    expect(code).toBe(0);
    expect(stdout.match(/^evaluated .*$/gm)?.slice(-2)).toEqual([
      "evaluated step 2: asked 2 (before 0)",
      "evaluated step 4: asked 4 (before 0)",
    ]);
  });

  it.each(["SIGTERM", "SIGHUP"] as const)("is left at %s, by start and attach", async (signal) => {
    const { far, id, jobs, logged, start, attach } = createFarProject();
    far.train(1);
    for (const begin of [start, attach]) {
      const { child, printed, ended } = begin();
      await printed(/called 1|attached/);
      child.kill(signal);
      const { code, stdout, stderr } = await ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(
        new RegExp(
          `\ndetached: job ${id()} keeps training on the far cluster; follow it with: npx kit attach ${id()}\n$`,
        ),
      );
      expect(jobs()).toMatchObject([{ status: "running", lastHeardAt: expect.any(String) }]);
      expect(far.isStopped(id())).toBe(false);
    }
    expect(logged()).toEqual(["started", "log 1"]);
  });

  it("is cancelled there by Ctrl-C, of start and of attach", async () => {
    for (const isAttached of [false, true]) {
      const { far, id, jobs, logged, start, attach } = createFarProject();
      far.train(1);
      if (isAttached) await start("--detach").ended;
      const { child, printed, ended } = isAttached ? attach() : start();
      await printed(/called 1/);
      child.kill("SIGINT");
      expect((await ended).code).toBe(130);
      expect(jobs()).toMatchObject([{ status: "cancelled" }]);
      expect(far.isStopped(id())).toBe(true);
      expect(logged().at(-1)).toBe("cancelled 1");
    }
  });

  it("stays running when Ctrl-C does not reach it, and is attached again, whatever the project trains now", async () => {
    const { project, far, id, jobs, logged, start, attach } = createFarProject();
    far.train(1);
    far.deafen();
    const { child, printed, ended } = start();
    await printed(/called 1/);
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain(`Job ${id()} may still be running there`);
    expect(jobs()).toMatchObject([{ status: "running" }]);
    const other = `maxSteps: 9, model: "./gone", dataset: { type: "jsonl", path: "gone.jsonl" },`;
    writeFileSync(join(project, "src/kit/index.ts"), remoteSource({ options: other + CALLS }));
    for (const path of [".kit/build", "data.jsonl"])
      rmSync(join(project, path), { recursive: true });
    far.train(4);
    expect((await attach().ended).code).toBe(0);
    expect(logged()).toEqual(ALL);
  });

  it("is left right after it was handed over with --detach", async () => {
    const { far, id, jobs, logged, start } = createFarProject();
    const { code, stdout } = await start("--detach").ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^job ${id()} tiny\ndetached: job ${id()} keeps training `));
    expect(jobs()).toMatchObject([{ status: "running" }]);
    expect(logged()).toEqual([]);
    expect(far.isStopped(id())).toBe(false);
  });

  it("has failed where it was not taken, whether or not it was to be left there", async () => {
    for (const options of [[], ["--detach"]]) {
      const { far, id, jobs, logged, start } = createFarProject();
      far.refuse();
      const { code, stdout, stderr } = await start(...options).ended;
      expect({ code, stdout }).toEqual({ code: 1, stdout: `job ${id()} tiny\n` });
      expect(stderr).toMatch(/^failed: It takes no job\.\n/);
      expect(jobs()).toMatchObject([{ status: "failed" }]);
      expect(logged()).toEqual(["failed"]);
    }
  });

  it("stays running when contact is lost, and says where its checkpoints are", async () => {
    const { far, id, jobs, logged, start, attach } = createFarProject();
    far.train(1);
    const { printed, ended } = start();
    await printed(/called 1/);
    far.lose();
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `kit: Lost contact with the far cluster. Job ${id()} may still be running there, with its checkpoints in /far/${id()}. Run npx kit attach ${id()} to follow it again.\n`,
    });
    const [left] = jobs();
    expect(left).toMatchObject({ status: "running", lastHeardAt: expect.any(String) });
    expect(await attach().ended).toMatchObject({ code: 1, stderr: "kit: Nothing answers.\n" });
    expect(jobs()).toEqual([left]);
    expect(logged()).toEqual(["started", "log 1"]);
  });

  it("is followed by one process: another says by which, and of two at once one wins", async () => {
    const { far, id, jobs, logged, start, attach } = createFarProject();
    far.train(1);
    await start("--detach").ended;
    const both = [attach(), attach()];
    const loser = await Promise.race(
      both.map(async ({ child, ended }) => ({ child, ...(await ended) })),
    );
    const [winner] = both.filter(({ child }) => child !== loser.child);
    const refusal = (pid = 0) =>
      `^kit: Process ${pid} on \\S+ already follows job ${id()}\\. See it in kit ui; to cancel it, run npx kit cancel ${id()}\n$`;
    expect(loser.code).toBe(1);
    expect(loser.stderr).toMatch(new RegExp(refusal(winner?.child.pid)));
    const third = await attach().ended;
    expect(third).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(refusal(winner?.child.pid)),
    });
    far.train(4);
    expect((await winner?.ended)?.code).toBe(0);
    expect(logged()).toEqual(ALL);
    expect(jobs()).toMatchObject([{ status: "completed" }]);
  });

  it("fails with a sentence where it is unknown", async () => {
    const { project, id, jobs, start, attach } = createFarProject();
    await start("--detach").ended;
    rmSync(join(project, "far", id()));
    const { code, stderr } = await attach().ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: `failed: The job ${id()} is unknown.\n` });
    expect(jobs()).toMatchObject([{ status: "failed" }]);
  });

  it("stops early with what an earlier process has seen, and removes what is too many", async () => {
    const best = `evalDataset: { type: "jsonl", path: "data.jsonl" }, loadBestModelAtEnd: true,
      saveSteps: 1, maxSteps: 20, evalSteps: 1, earlyStoppingPatience: 3, saveTotalLimit: 2,`;
    const { project, far, id, logged, start, attach } = createFarProject(`${best} ${CALLS}`);
    far.keep();
    far.train(4);
    const first = start();
    await first.printed(/called checkpoint 4/);
    first.child.kill("SIGKILL");
    await first.ended;
    far.train(9);
    const { code, stdout } = await attach().ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /\ncompleted in \d+s, stopped early at step 5: .* at step 2; saved in \S+step-2 \(on the cluster\);/,
    );
    expect(calledIn(stdout)).toEqual(["5", "checkpoint 5", "completed 2"]);
    expect(logged().slice(-3)).toEqual(["log 5", "saved 5", "completed"]);
    expect(far.isStopped(id())).toBe(true);
    const kept = [1, 2, 3, 4, 5].filter((step) =>
      existsSync(join(project, ".kit/jobs", id(), `artifacts/step-${step}.stored.json`)),
    );
    expect(kept).toEqual([2, 5]);
  });
});

describe("kit attach refuses in a sentence", () => {
  it("a job that has ended, one that runs here, and one that is not there", async () => {
    const { project, far, id, start, attach } = createFarProject();
    const none = await attach().ended;
    expect(none).toEqual({
      code: 2,
      stdout: "",
      stderr: `kit: There is no job in ${project} yet. Run npx kit start first.\n`,
    });
    far.train(4);
    await start().ended;
    expect(await attach(id().slice(0, 18)).ended).toEqual({
      code: 1,
      stdout: "",
      stderr: `kit: Job ${id()} has ended: completed. Start another to train again.\n`,
    });
    expect(await attach("2020").ended).toMatchObject({
      code: 2,
      stderr: `kit: No job named 2020 in ${project}. Run npx kit jobs to see the ids.\n`,
    });
    expect(await attach("").ended).toMatchObject({
      code: 2,
      stderr: `kit: No job named "" in ${project}. Run npx kit jobs to see the ids.\n`,
    });
  });

  it("one whose records are damaged, which goes on there", async () => {
    const { project, far, id, jobs, logged, start, attach } = createFarProject();
    far.train(2);
    const first = start();
    await first.printed(/called checkpoint 2/);
    first.child.kill("SIGKILL");
    await first.ended;
    const at = (name: string) => join(project, ".kit/jobs", id(), name);
    for (const name of ["placement.json", "job.json"]) {
      const whole = readFileSync(at(name), "utf8");
      const record = JSON.parse(whole) as Record<string, unknown>;
      const damage = { resumed: { step: "1" }, config: { engine: { name: "remote" } } };
      writeFileSync(at(name), JSON.stringify({ ...record, ...damage }));
      expect(await attach().ended).toEqual({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(`^kit: Restore the damaged ${name} of job .* runs remotely`),
      });
      writeFileSync(at(name), whole);
    }
    const [file, name] = [readFileSync(at("job.json")), id()];
    writeFileSync(at("job.json"), "");
    expect(await attach(name).ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Restore the damaged job.json of job") as string,
    });
    writeFileSync(join(project, ".kit/jobs", name, "job.json"), file);
    const location = readFileSync(at("placement.json"), "utf8");
    const resumed = { jobId: id(), step: 1_000 };
    writeFileSync(at("placement.json"), JSON.stringify({ ...JSON.parse(location), resumed }));
    const { code, stderr } = await attach().ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        ` Then run npx kit attach ${id()} to follow the job again; it is still running on `,
      ),
    );
    expect(jobs()).toMatchObject([{ status: "running", lastHeardAt: expect.any(String) }]);
    expect(far.isStopped(id())).toBe(false);
    writeFileSync(at("placement.json"), location);
    far.train(4);
    expect((await attach().ended).code).toBe(0);
    expect(logged()).toEqual(ALL);
  });
});

describe("kit start --detach", () => {
  it("is wrong use with an engine that trains here, before anything starts", async () => {
    const project = createTinyProject();
    expect(await runKit(project, ["start", "--detach"])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "kit: --detach needs an engine that trains on other machines, such as ray, but embedded trains on this machine. Start it without --detach.\n",
    });
    expect(createJobStore(project).list()).toEqual([]);
  });
});
