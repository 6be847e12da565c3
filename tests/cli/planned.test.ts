import { expect, test } from "vitest";
import { planJob } from "../../jobs/plannedJob.ts";
import { createTinyProject, runKit } from "../kit.ts";

const TRAINER = {
  name: "later",
  model: { layers: 1, heads: 1, width: 8, context: 32 },
  dataset: { type: "jsonl", path: "data.jsonl" },
  maxSteps: 2,
};
const plan = (project: string) => planJob(project, { name: "later", trainer: TRAINER }).id;

test("a planned job lets others go first until a process begins it, and can be cancelled before", async () => {
  const project = createTinyProject();
  const id = plan(project);
  expect(await runKit(project, ["start"])).toMatchObject({ code: 0 });
  const jobs = async () => (await runKit(project, ["jobs"])).stdout;
  expect(await jobs()).toMatch(new RegExp(`^queued +${id} `, "m"));
  expect(await runKit(project, ["cancel", id])).toMatchObject({ code: 0 });
  expect(await jobs()).toMatch(new RegExp(`^cancelled +${id} `, "m"));
  const late = await runKit(project, ["start", "--planned", id]);
  expect(late).toMatchObject({ code: 1, stderr: expect.stringMatching(/has begun or ended/) });
});

test("of two processes that begin a planned job, one trains it", async () => {
  const project = createTinyProject();
  const id = plan(project);
  const both = [0, 1].map(() => runKit(project, ["start", "--planned", id]));
  const codes = (await Promise.all(both)).map(({ code }) => code);
  expect(codes.toSorted()).toEqual([0, 1]);
  expect((await runKit(project, ["jobs"])).stdout).toMatch(/^completed .*\n$/);
});
