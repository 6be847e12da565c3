import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyProject, pacedSource, runKit, startKit, tinySource } from "../kit.ts";

const newestIn = (project: string) => createJobStore(project).list()[0]?.id ?? "";
const ASK = ["infer", "latest", "1", "--max-tokens", "2"];

test("the latest job is the newest that has saved something, and kit says which it takes instead", async () => {
  const project = createTinyProject(tinySource({ options: "maxSteps: 1," }), {
    "src/endless.ts": pacedSource(),
  });
  await runKit(project, ["start"]);
  const trained = newestIn(project);
  const answer = await runKit(project, ASK);
  expect(answer).toMatchObject({ code: 0, stderr: "" });

  const { child, printed, ended } = startKit(project, ["start", "src/endless.ts"]);
  await printed(/^step /m);
  const other = newestIn(project);
  const said = (yet: string) =>
    `job ${other} has saved nothing${yet}; taking job ${trained} tiny\n`;
  expect(await runKit(project, ASK)).toEqual({ ...answer, stderr: said(" yet") });
  child.kill("SIGINT");
  await ended;
  expect(await runKit(project, ASK)).toEqual({ ...answer, stderr: said("") });
  const { stdout } = await runKit(project, ["export", "latest"]);
  expect(stdout).toMatch(new RegExp(`^${said("")}exporting \\S+${trained}/artifacts/step-1\\n`));
});

test("with nothing saved, it is told to wait for a job that trains, and not for one that has ended", async () => {
  const project = createTinyProject(pacedSource());
  const { child, printed, ended } = startKit(project, ["start"]);
  await printed(/^step /m);
  const directory = join(project, ".kit/jobs", newestIn(project));
  expect(await runKit(project, ASK)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`^kit: .*${directory} .*Wait .*\n$`)) as string,
  });
  child.kill("SIGKILL");
  await ended;
  const over = `kit: The job in ${directory} ended before it saved a checkpoint. Train again, or load another job's.\n`;
  expect(await runKit(project, ASK)).toMatchObject({ code: 1, stderr: over });
  writeFileSync(
    join(directory, "events.ndjson"),
    `{"event":"training.cancelled","data":{"step":7}}\n`,
  );
  expect(await runKit(project, ASK)).toMatchObject({ code: 1, stderr: over });
});
