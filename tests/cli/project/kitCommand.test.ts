import { mkdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../../jobs/store.ts";
import {
  CLI,
  TINY_DATA,
  createTinyProject,
  remoteSource,
  runKit,
  startKit,
  tinySource,
} from "../../kit.ts";
import { ROOT, run } from "../../packed.ts";
import { createProject } from "../../project.ts";
import { openRemote } from "../../remoteEngine.ts";

const SOURCE = tinySource({ options: "maxSteps: 1," });

/** A folder with a project in it, and Kit installed in one of both. */
function createWorkspace(installedIn: string, files: Record<string, string> = {}): string {
  const parent = createProject({
    ...files,
    "my own/src/kit/index.ts": SOURCE,
    "my own/data.jsonl": TINY_DATA,
  });
  const modules = join(parent, installedIn, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  symlinkSync(ROOT, join(modules, "kit"));
  symlinkSync(CLI, join(modules, ".bin", "kit"));
  return parent;
}

/** What `kit start` says to try. */
async function tried(cwd: string, args: string[], env?: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await runKit(cwd, ["start", ...args], env);
  return /; try it: (.*)$/m.exec(stdout)?.[1] ?? stdout;
}

const paste = (cwd: string, words: string) => run(cwd, ["sh", "-c", `${words} 1 --max-tokens 2`]);

test.each([
  ["where Kit is installed above", "", /^npx kit infer \S+ --project 'my own'$/],
  ["where it is installed in the project", "my own", /^cd 'my own' && npx kit infer \S+$/],
])("a printed command works in the folder where the user is: %s", async (_, installedIn, form) => {
  const parent = createWorkspace(installedIn);
  const words = await tried(parent, ["--project", "my own"]);
  expect(words).toMatch(form);
  await paste(parent, words);
  const exported = await runKit(parent, ["export", "latest", "out", "--project", "my own"]);
  await paste(parent, /; try it: (.*)$/m.exec(exported.stdout)?.[1] ?? exported.stdout);
});

test("a script of the project prints what works in the subfolder where it was called", async () => {
  const parent = createWorkspace("my own");
  const project = join(parent, "my own");
  const folder = join(project, "src");
  const words = await tried(project, [], { INIT_CWD: folder });
  expect(words).toMatch(/^npx kit infer \S+ --project '.*\/my own'$/);
  await paste(folder, words);
});

test.each([
  ["pnpm exec kit infer", { "pnpm-lock.yaml": "" }],
  ["yarn run kit infer", { "yarn.lock": "" }],
])("a printed command is the package manager's own: %s", async (form, files) => {
  expect(await tried(createTinyProject(SOURCE, files), [])).toContain(form);
});

test("so is the command that follows a job again, of one that was left and one out of reach", async () => {
  const project = createTinyProject(remoteSource());
  const far = openRemote(join(project, "far"));
  const startFar = (...more: string[]) =>
    startKit(join(project, ".."), ["start", "--project", basename(project), ...more]);
  const follow = () =>
    `npx kit attach ${createJobStore(project).list()[0]?.id} --project ${basename(project)}`;
  expect((await startFar("--detach").ended).stdout).toContain(`; follow it with: ${follow()}\n`);
  far.train(1);
  const { printed, ended } = startFar();
  await printed(/^step +1\//m);
  far.lose();
  expect((await ended).stderr).toContain(` Run ${follow()} to follow it again.\n`);
});
