import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { STARTED, createJob } from "../jobs.ts";
import { createTinyProject, pacedSource, runKit, startKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";
import { namesOf, startServe } from "../serveCommand.ts";

const newestIn = (project: string) => createJobStore(project).list()[0]?.id ?? "";
const ASK = ["infer", "latest", "1", "--max-tokens", "2"];
const ROWS = ["--data", "data.jsonl"];

/** Made once: a project with a completed job, and a cancelled one after it that has saved a checkpoint. */
let template = "";
let cancelled = "";
beforeEach(async () => {
  if (template !== "") return;
  template = realpathSync(mkdtempSync(join(tmpdir(), "kit-latest-")));
  cpSync(createTinyProject(tinySource({ options: "maxSteps: 1," })), template, { recursive: true });
  expect(await runKit(template, ["start"])).toMatchObject({ code: 0 });
  const completed = newestIn(template);
  cancelled = `${completed.slice(0, -4)}zzzz`;
  const folder = join(template, ".kit/jobs", cancelled);
  cpSync(join(template, ".kit/jobs", completed), folder, { recursive: true });
  const rewrite = (name: string, change: (text: string) => string) =>
    writeFileSync(join(folder, name), change(readFileSync(join(folder, name), "utf8")));
  rewrite("job.json", (text) => text.replace(completed, cancelled));
  rewrite("events.ndjson", (text) =>
    text.replace(/^.*training\.completed.*$/m, '{"event":"training.cancelled","data":{"step":1}}'),
  );
});
afterAll(() => rmSync(template, { recursive: true, force: true, maxRetries: 5 }));

/** The template, and a newest job that trains and has saved nothing. @returns the note on it, too */
function createCopy(): { project: string; note: string } {
  const project = createProject();
  cpSync(template, project, { recursive: true });
  const { id } = createJob(project, "newest", [STARTED]).job;
  return { project, note: `job ${id} has saved nothing yet; using job ${cancelled} tiny\n` };
}

test.each([
  [ASK],
  [["infer", "base", "1", "--max-tokens", "2"]],
  [["eval", "latest", ...ROWS]],
  [["eval", "base", ...ROWS]],
  [["export", "latest", "there"]],
])("the latest model is that of the newest job that has saved something: kit %s", async (args) => {
  const { project, note } = createCopy();
  const { code, stdout, stderr } = await runKit(project, args);
  expect({ code, said: stdout + stderr }).toEqual({
    code: 0,
    said: expect.stringContaining(note) as string,
  });
  if (args[0] === "export") expect(stdout).toContain(`exporting .kit/jobs/${cancelled}/`);
});

test("the note says that the newest job's checkpoints were deleted, and so does the refusal of that job", async () => {
  const project = createProject();
  cpSync(template, project, { recursive: true });
  const directory = join(project, ".kit/jobs", cancelled);
  rmSync(join(directory, "artifacts"), { recursive: true });
  const { stderr } = await runKit(project, ASK);
  expect(stderr).toMatch(
    new RegExp(`^the checkpoints of job ${cancelled} were deleted; using job \\S+ tiny\n$`),
  );
  expect(await runKit(project, ["infer", cancelled, "1"])).toMatchObject({
    code: 1,
    stderr: `kit: The checkpoints of the job in ${directory} were deleted. Train again, or load another job's.\n`,
  });
});

test.each([
  [[], () => [cancelled, "tiny", "latest"]],
  [["latest"], () => [cancelled, "tiny", "latest"]],
  [["base"], () => ["base"]],
])("kit serve %s serves it, too, and says that it is not completed", async (words, names) => {
  const { project, note } = createCopy();
  const serve = await startServe(project, words);
  expect(await namesOf(serve)).toEqual(names());
  serve.child.kill("SIGTERM");
  const answers = `job ${cancelled} tiny is cancelled, not completed: serving its newest checkpoint\n`;
  expect((await serve.ended).stderr).toBe(words[0] === "base" ? note : note + answers);
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
