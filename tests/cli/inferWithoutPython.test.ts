import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";

const ASK = ["infer", "latest", "1", "--max-tokens", "2"];

/** A project whose job says that Python trained it, on a machine without that Python. */
async function projectOfPython(): Promise<{ project: string; answer: string; saved: string }> {
  const project = createTinyProject();
  await runKit(project, ["start"]);
  const { stdout } = await runKit(project, ASK);
  const job = join(project, ".kit/jobs", createJobStore(project).list()[0]?.id ?? "");
  const file = JSON.parse(readFileSync(join(job, "job.json"), "utf8")) as { config: object };
  const config = { ...file.config, engine: { name: "python" } };
  writeFileSync(join(job, "job.json"), JSON.stringify({ ...file, config }));
  const before = 'import { python } from "kit/engines";';
  const options = 'engine: python({ path: "gone/python" }),';
  writeFileSync(join(project, "src/kit/index.ts"), tinySource({ before, options }));
  await runKit(project, ["build"]);
  return { project, answer: stdout, saved: join(job, "artifacts/step-4") };
}

test("a job of python() is answered by the embedded engine where its Python is missing", async () => {
  const { project, answer } = await projectOfPython();
  expect(await runKit(project, ASK)).toEqual({
    code: 0,
    stdout: answer,
    stderr:
      "the embedded engine answers, because the Python that trained this model is missing; to install one, run: npx kit python install\n",
  });
});

test("a model that only Python can read is told with both ways out", async () => {
  const { project, saved } = await projectOfPython();
  writeFileSync(join(saved, "config.json"), '{"model_type":"gpt2"}');
  const { code, stderr } = await runKit(project, ASK);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^kit: There is no Python at \S+gone\/python \(from python\(\{ path \}\)\)\. Check the path\. To install a Python, run: npx kit python install\. The embedded engine cannot load this model, either: .*\n$/,
  );
});
