import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { ENDLESS, createTinyProject, openGate, runKit, startKit, tinySource } from "../kit.ts";

function jobsOf(project: string) {
  return createJobStore(project).list();
}

describe("kit start exits", () => {
  it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "with 130 on %s, the job cancelled",
    async (signal) => {
      const project = createTinyProject(tinySource({ options: ENDLESS }));
      const { child, printed, ended } = startKit(project, ["start"]);
      await printed(/step +1\//);
      child.kill(signal);
      const { code, stdout, stderr } = await ended;
      expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
      expect(stdout).toMatch(
        /\ncancelled at step \d+; this job has saved nothing; to save sooner, lower saveSteps \(1000000\)\n$/,
      );
      expect(jobsOf(project)).toMatchObject([{ status: "cancelled" }]);
    },
  );

  it.each(["SIGTERM", "SIGHUP"] as const)(
    "with 130 on %s while the project's code is loaded, without a job",
    async (signal) => {
      const before = `console.log("loading"); await new Promise((go) => setTimeout(go, 60_000));`;
      const project = createTinyProject(tinySource({ before }));
      const { child, printed, ended } = startKit(project, ["start"]);
      await printed(/^loading/);
      child.kill(signal);
      expect(await ended).toEqual({ code: 130, stdout: "loading\n", stderr: "" });
      expect(jobsOf(project)).toEqual([]);
    },
  );

  it("on SIGINT also while the project's code is in a loop", async () => {
    const project = createTinyProject(tinySource({ before: `console.log("loading"); for (;;);` }));
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/^loading/);
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: null, stdout: "loading\n", stderr: "" });
    // As a shell reports it: 128 + 2.
    expect(child.signalCode).toBe("SIGINT");
  });

  it("on signals while functions of the project are in a loop, which it names", async () => {
    const loop = (options: string, signal: NodeJS.Signals) => ({ options, signal });
    const loops = [
      loop(`dataset: async function* () { for (;;); },`, "SIGINT"),
      loop(`dataset: { type: "jsonl", path: "data.jsonl", map() { for (;;); } },`, "SIGTERM"),
      loop(
        `callbacks: { onStarted() { for (;;) /^(a+)+$/.test("a".repeat(40) + "b"); } },`,
        "SIGHUP",
      ),
    ];
    await Promise.all(
      loops.map(async ({ options, signal }) => {
        const before = `process.on("${signal}", () => console.log("heard"));`;
        const project = createTinyProject(tinySource({ options, before }));
        const { child, printed, ended } = startKit(project, ["start"]);
        await printed(
          /^kit: src\/kit\/index\.ts:\d+:\d+ has blocked the event loop for 10 s\. Ctrl-C stops it at once\.$/m,
        );
        child.kill(signal);
        expect((await ended).stdout).not.toContain("heard");
        expect(child.signalCode).toBe(signal);
        expect(jobsOf(project)).toMatchObject([{ status: "failed" }]);
      }),
    );
  });

  it("hears signals again once a loop of the project has ended", async () => {
    const options = `${ENDLESS} callbacks: { onStarted() { while (!existsSync("open")); } },`;
    const project = createTinyProject(
      tinySource({ options, before: `import { existsSync } from "node:fs";` }),
    );
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/blocked the event loop/);
    openGate(project);
    await printed(/step +1\//);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130 });
    expect(jobsOf(project)).toMatchObject([{ status: "cancelled" }]);
  });

  it("with 130 when it is interrupted twice, onCancelled called once", async () => {
    const options = `${ENDLESS} callbacks: { onCancelled: () => console.log("bye") },`;
    const project = createTinyProject(tinySource({ options }));
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/step +1\//);
    child.kill("SIGINT");
    child.kill("SIGTERM");
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout.match(/bye|cancelled/g)).toEqual(["cancelled", "bye"]);
  });

  it("with 130 at a second signal while onCancelled goes on", async () => {
    const options = `${ENDLESS} callbacks: { onCancelled: () => new Promise(() => setInterval(() => {}, 1000)) },`;
    const project = createTinyProject(tinySource({ options }));
    const { child, printed, ended } = startKit(project, ["start"]);
    await printed(/step +1\//);
    child.kill("SIGINT");
    await printed(/cancelled/);
    child.kill("SIGINT");
    expect((await ended).code).toBe(130);
  });

  it("with 130 when it is interrupted in the queue", async () => {
    const project = createTinyProject(tinySource({ options: ENDLESS }));
    const first = startKit(project, ["start"]);
    await first.printed(/step +1\//);
    const second = startKit(project, ["start"]);
    await second.printed(/^job /);
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["queued", "running"]);
    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(130);
    expect(jobsOf(project).map(({ status }) => status)).toEqual(["cancelled", "running"]);
    first.child.kill("SIGINT");
    expect((await first.ended).code).toBe(130);
  });

  it("with 2 where there is no project", async () => {
    const project = createTinyProject();
    expect(await runKit(project, ["start", "--project", "none"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `kit: There is no folder ${join(project, "none")}. Check --project.\n`,
    });
    const source = join(project, "src");
    expect(await runKit(source, ["start"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `kit: There is no src/kit/index.ts in ${source}. Create a project with "kit init", or name another folder with --project.\n`,
    });
  });
});
