import { afterEach, beforeEach, expect, it, vi } from "vitest";
import App from "../../../src/App.vue";
import { createBackend, job, settle, visit } from "../backend.ts";

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

it("tells in the tab how the job at work does, and between runs how the last one ended", async () => {
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
