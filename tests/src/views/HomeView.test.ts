import { afterEach, beforeEach, expect, it, vi } from "vitest";
import App from "../../../src/App.vue";
import { createBackend, createOutput, job, settle, visit } from "../backend.ts";

let backend: ReturnType<typeof createBackend>;

beforeEach(() => {
  vi.useFakeTimers();
  document.head.innerHTML = '<link rel="icon" href="favicon/none.svg" />';
  backend = createBackend();
});

afterEach(() => void vi.useRealTimers());

const tab = () => [
  document.title,
  /(\w+)\.svg/.exec(document.querySelector("link")?.href ?? "")?.[1],
];

it("shows the running job's status in the tab, and the last job's between runs", async () => {
  const { router } = await visit(App);
  expect(tab()).toEqual(["Kit", "none"]);
  for (const [jobs, status] of [
    [[job("b", "queued"), job("a", "completed")], "queued"],
    [[job("c", "queued"), job("b", "running"), job("a", "failed")], "running"],
    [[job("b", "completed"), job("a", "failed")], "completed"],
    [[job("b", "failed")], "failed"],
    [[job("b", "cancelled")], "cancelled"],
  ] as const) {
    backend.jobs(...jobs);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(tab()).toEqual([`${status} · Kit`, status]);
  }
  await router.push("/jobs/b");
  await settle();
  expect(tab()).toEqual(["cancelled · name of b · Kit", "cancelled"]);
  await router.push("/");
  await settle();
  expect(tab()).toEqual(["cancelled · Kit", "cancelled"]);
});

it("shows a run in the tab before the list has its job", async () => {
  backend.jobs(job("a", "failed"));
  const run = createOutput();
  backend.on("GET api/train", () => run.response());
  await visit(App);
  expect(tab()).toEqual(["running · Kit", "running"]);
  backend.jobs(job("b", "completed"), job("a", "failed"));
  await vi.advanceTimersByTimeAsync(5_000);
  run.end();
  await settle();
  expect(tab()).toEqual(["completed · Kit", "completed"]);
});

it("reads the list when a run ends, not only with its next poll", async () => {
  backend.jobs(job("a", "running"));
  const run = createOutput();
  backend.on("GET api/train", () => run.response());
  const { page } = await visit(App);
  expect(page.find(".jobs tbody").text()).toContain("running");
  backend.jobs(job("a", "completed"));
  run.end();
  await settle();
  expect(page.find(".jobs tbody").text()).toContain("completed");
  expect(backend.count("GET api/jobs")).toBe(2);
});

it("reads the list as the run begins to print, until its job is there", async () => {
  const run = createOutput();
  backend.on("GET api/train", () => run.response());
  const { page } = await visit(App);
  run.write("kit: the build is older than src/kit\n");
  await settle();
  expect(backend.count("GET api/jobs")).toBe(2);
  backend.jobs(job("20260307-123456-000-abcd", "running"));
  run.write("job 20260307-123456-000-abcd tiny\n");
  await settle();
  expect(page.find(".jobs tbody").text()).toContain("running");
  run.write("training kit/nano\njob done\n");
  await settle();
  expect(backend.count("GET api/jobs")).toBe(3);
});

it("does not read the list for the job of a run that it has", async () => {
  backend.jobs(job("20260307-123456-000-abcd", "running"));
  const run = createOutput();
  backend.on("GET api/train", () => run.response());
  await visit(App);
  run.write("job 20260307-123456-000-abcd tiny\n");
  await settle();
  expect(backend.count("GET api/jobs")).toBe(1);
});
