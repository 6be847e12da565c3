import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { modelProject } from "../../../cli/project/modelProject.ts";
import { followNewest } from "../../../cli/serve/followNewest.ts";
import { loadModels } from "../../../cli/serve/loadModels.ts";
import { beginPlanned, planJob } from "../../../jobs/plannedJob.ts";
import type { JobEvent } from "../../../protocol/event.ts";
import type { Job } from "../../../protocol/job.ts";
import type { ModelPool } from "../../../server/serve/modelPool.ts";
import { COMPLETED, CONFIG, STARTED, createJob } from "../../jobs.ts";
import { createProject } from "../../project.ts";

afterEach(() => {
  vi.useRealTimers();
});

function follow(onNewer: (job: Job) => Promise<void>, start: JobEvent[] = [STARTED, COMPLETED]) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const project = createProject();
  const first = createJob(project, "first", start);
  const { job: from } = first;
  const errors: unknown[] = [];
  const complete = () => createJob(project, "next", [STARTED, COMPLETED]).job.id;
  const following = followNewest({ project, from, onNewer, onError: (one) => errors.push(one) });
  return { first, complete, stop: () => following.stop(), errors };
}

it("offers a newer completed job, and none once it is stopped, as while a server drains", async () => {
  const offered: string[] = [];
  const { complete, stop } = follow(({ id }) => {
    offered.push(id);
    return Promise.resolve();
  });
  const next = complete();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(offered).toEqual([next]);
  stop();
  complete();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(offered).toEqual([next]);
});

it("is silent on a model whose loading the stop has cut off", async () => {
  let cut: (error: Error) => void = () => undefined;
  const loading = new Promise<void>((_, reject) => (cut = reject));
  const { complete, stop, errors } = follow(() => loading);
  complete();
  await vi.advanceTimersByTimeAsync(2_000);
  stop();
  cut(new Error("aborted"));
  await vi.advanceTimersByTimeAsync(1);
  expect(errors).toEqual([]);
});

it("offers the job that it serves once that completes, and then only newer ones", async () => {
  const offered: string[] = [];
  const { first, complete } = follow(
    ({ id }) => {
      offered.push(id);
      return Promise.resolve();
    },
    [STARTED],
  );
  await vi.advanceTimersByTimeAsync(2_000);
  expect(offered).toEqual([]);
  first.append(COMPLETED);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(offered).toEqual([first.job.id]);
  const next = complete();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(offered).toEqual([first.job.id, next]);
});

it("leaves a job that a caller of kit serve --fine-tuning planned, at the start and later", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const project = createProject();
  const own = createJob(project, "own", [STARTED, COMPLETED]);
  mkdirSync(join(own.directory, "artifacts/step-1"), { recursive: true });
  const plan = async () => {
    const { id } = planJob(project, { name: "gpt-4", trainer: {} });
    const planned = await beginPlanned(project, id, CONFIG);
    mkdirSync(join(planned.directory, "artifacts/step-1"), { recursive: true });
    [STARTED, COMPLETED].forEach(planned.append);
    planned.close();
    return id;
  };
  const served = new Map<string, string[]>();
  const add = ({ id }: { id: string }, names: string[]) =>
    Promise.resolve(void served.set(id, names));
  const load = (modelNames: string[]) =>
    loadModels({ add } as unknown as ModelPool, {
      ...{ project: modelProject(project, () => {}), modelNames, follows: true },
      ...{ loadOptions: { engine: undefined }, onFollow: () => {}, onError: () => {} },
    });
  const first = await plan();
  const { stop } = await load([]);
  await plan();
  await vi.advanceTimersByTimeAsync(2_000);
  stop();
  const { id } = own.job;
  expect([...served]).toEqual([[id, [id, "own", "latest"]]]);
  (await load([first])).stop();
  expect(served.get(first)).not.toContain("gpt-4");
});

it("leaves a job whose checkpoints were deleted, which the first choice has passed over", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const project = createProject();
  const { directory } = createJob(project, "first", [STARTED, COMPLETED]);
  mkdirSync(join(directory, "artifacts/step-1"), { recursive: true });
  createJob(project, "next", [STARTED, COMPLETED]);
  const [notes, served, errors]: [string[], string[], unknown[]] = [[], [], []];
  const add = ({ id }: { id: string }) => Promise.resolve(void served.push(id));
  const { stop } = await loadModels({ add } as unknown as ModelPool, {
    ...{
      project: modelProject(project, (text) => notes.push(text)),
      modelNames: [],
      follows: true,
    },
    ...{
      loadOptions: { engine: undefined },
      onFollow: () => {},
      onError: (one) => errors.push(one),
    },
  });
  await vi.advanceTimersByTimeAsync(2_000);
  stop();
  expect({ notes: notes.length, served, errors }).toEqual({
    notes: 1,
    served: [basename(directory)],
    errors: [],
  });
});
