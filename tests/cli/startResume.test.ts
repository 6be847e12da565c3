import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { stepOfEntry } from "../../protocol/artifactPath.ts";
import { createTinyProject, pacedSource, runKit, startKit, tinySource } from "../kit.ts";

/** Killed in its midst, however busy the machine is, and then finished. */
const OPTIONS =
  "maxSteps: Number(process.env.STEPS ?? 1_000_000), saveSteps: 200, loggingSteps: 200, saveTotalLimit: 2,";

it("kit start --resume goes on from a killed job's newest checkpoint, and then has nothing to resume", async () => {
  const project = createTinyProject(tinySource({ options: OPTIONS }));
  const { child, printed, ended } = startKit(project, ["start"]);
  await printed(/checkpoint .*step-400\n/);
  child.kill("SIGKILL");
  await ended;
  const killed = createJobStore(project).list()[0]?.id ?? "";
  const saved = readdirSync(join(project, ".kit/jobs", killed, "artifacts"));
  const last = 1_000 + Math.max(...saved.map((name) => stepOfEntry(name) ?? 0));

  const env = { STEPS: String(last) };
  const { code, stdout } = await runKit(project, ["start", "--resume"], env);
  expect(code).toBe(0);
  const [, from = ""] = RegExp(`resuming job ${killed} after step (\\d+)`).exec(stdout) ?? [];
  expect(Number(from)).toBeGreaterThanOrEqual(400);
  const steps = [...stdout.matchAll(/^step +(\d+)\//gm)].map(([, step]) => Number(step));
  expect(Math.min(...steps)).toBeGreaterThan(Number(from));
  expect(steps.at(-1)).toBe(last);
  const [job] = createJobStore(project).list();
  expect(job).toMatchObject({ status: "completed" });
  const artifacts = join(project, ".kit/jobs", job?.id ?? "", "artifacts");
  expect(existsSync(join(artifacts, `step-${last}`))).toBe(true);

  const again = startKit(project, ["start", "--resume"]);
  expect(await again.printed(/^step +1\//m)).toMatch(/nothing/);
});

it("kit start --resume that is cancelled before it trains says at which step it stands", async () => {
  const options = "maxSteps: 1_000_000, saveSteps: 200, loggingSteps: 200,";
  const project = createTinyProject(tinySource({ options }), {
    "src/other.ts": pacedSource(),
  });
  const first = startKit(project, ["start"]);
  await first.printed(/checkpoint .*step-200\n/);
  first.child.kill("SIGINT");
  expect((await first.ended).stdout).toMatch(
    /\ncancelled at step \d+; saved in \S+; try it: npx kit infer \S+\n$/,
  );
  const artifacts = join(project, ".kit/jobs", createJobStore(project).list()[0]!.id, "artifacts");
  const last = Math.max(...readdirSync(artifacts).map((name) => stepOfEntry(name) ?? 0));

  // It waits for its turn.
  const other = startKit(project, ["start", "src/other.ts"]);
  await other.printed(/^step /m);
  const resuming = startKit(project, ["start", "--resume"]);
  await resuming.printed(/^waiting for job /m);
  resuming.child.kill("SIGINT");
  const { code, stdout } = await resuming.ended;
  expect(stdout).toMatch(new RegExp(`\ncancelled at step ${last}; this job has saved nothing\n$`));
  expect(code).toBe(130);
});
