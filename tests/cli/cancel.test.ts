import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyProject, pacedSource, remoteSource, runKit, startKit } from "../kit.ts";
import { openRemote } from "../remoteEngine.ts";
import { ENDLESS, createTinyTrainer, enterProject } from "../sdk/project.ts";

const statuses = (project: string) =>
  createJobStore(project)
    .list()
    .map(({ status }) => status);

describe("kit cancel", () => {
  it("ends the job of another process, and says so once it has ended", async () => {
    const project = createTinyProject(pacedSource());
    const training = startKit(project, ["start"]);
    await training.printed(/^step /m);
    const cancelled = await runKit(project, ["cancel", "latest"]);
    const [job] = createJobStore(project).list();
    expect(cancelled).toEqual({
      code: 0,
      stdout: `cancelling job ${job?.id} tiny\ncancelled job ${job?.id}; its checkpoints stay\n`,
      stderr: "",
    });
    expect(job?.status).toBe("cancelled");
    const { code, stdout } = await training.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/^cancelled /m);
  });

  it("ends a queued job, and not the one that it waits for", async () => {
    const project = createTinyProject(pacedSource());
    await startKit(project, ["start"]).printed(/^step /m);
    const queued = startKit(project, ["start"]);
    await queued.printed(/^waiting for job /m);
    expect(await runKit(project, ["cancel", "latest"])).toMatchObject({ code: 0, stderr: "" });
    expect((await queued.ended).code).toBe(130);
    expect(statuses(project)).toEqual(["cancelled", "running"]);
    // The newest that goes on.
    expect(await runKit(project, ["cancel", "latest"])).toMatchObject({ code: 0, stderr: "" });
    expect(statuses(project)).toEqual(["cancelled", "cancelled"]);
  });

  it("ends the job of a program, which goes on", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer(ENDLESS);
    const { jobId } = await trainer.start();
    // By the beginning of its id, from another folder.
    const named = ["cancel", jobId.slice(0, 15), "--project", project];
    const [{ job }, { code }] = await Promise.all([trainer.wait(), runKit("/", named)]);
    expect({ code, status: job.status }).toEqual({ code: 0, status: "cancelled" });
  });

  it.each([["that nobody follows", false] as const, ["that a process follows", true] as const])(
    "stops a job on other machines %s",
    async (_, isFollowed) => {
      const project = createTinyProject(remoteSource());
      const far = openRemote(join(project, "far"));
      far.train(1);
      const started = startKit(project, isFollowed ? ["start"] : ["start", "--detach"]);
      if (isFollowed) await started.printed(/^step 1/m);
      else await started.ended;
      expect(await runKit(project, ["cancel", "latest"])).toMatchObject({ code: 0, stderr: "" });
      const [job] = createJobStore(project).list();
      expect(job?.status).toBe("cancelled");
      expect(far.isStopped(job?.id ?? "")).toBe(true);
    },
  );

  it("says why a job on other machines that nothing reaches was not cancelled; it stays as it was", async () => {
    const project = createTinyProject(remoteSource());
    const far = openRemote(join(project, "far"));
    far.train(1);
    await startKit(project, ["start", "--detach"]).ended;
    far.deafen();
    const { code, stderr } = await runKit(project, ["cancel", "latest"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^kit: Lost contact with the far cluster\. Job \S+ may still be running there/,
    );
    expect(createJobStore(project).list()).toMatchObject([
      { status: "running", lastHeardAt: expect.any(String) },
    ]);
    const [id = ""] = readdirSync(join(project, ".kit/jobs"));
    expect(existsSync(join(project, ".kit/jobs", id, "cancel"))).toBe(false);
  });

  it("refuses a job that has ended, and one that is not there", async () => {
    const project = createTinyProject();
    await runKit(project, ["start"]);
    const [job] = createJobStore(project).list();
    expect(await runKit(project, ["cancel", "latest"])).toEqual({
      ...{ code: 1, stdout: "" },
      stderr: `kit: Job ${job?.id} has already ended: completed.\n`,
    });
    expect(await runKit(project, ["cancel", "2025"])).toEqual({
      ...{ code: 2, stdout: "" },
      stderr: `kit: No job named 2025 in ${project}. Run npx kit jobs to see the ids.\n`,
    });
  });
});
