import { beforeEach, expect, it } from "vitest";
import App from "../../src/App.vue";
import { createBackend, job, settle, visit } from "./backend.ts";

let backend: ReturnType<typeof createBackend>;

beforeEach(() => {
  backend = createBackend();
  backend.jobs(job("a"));
});

it("shows Run training on the left and Jobs on the right at home", async () => {
  const { page } = await visit(App, "/");
  expect(page.findAll(".columns > section h1").map((title) => title.text())).toEqual([
    "Run training",
    "Jobs",
  ]);
});

it("leads home from a job, and from an address that does not exist", async () => {
  const { page, router } = await visit(App, "/jobs/a");
  await page.get("nav a").trigger("click");
  await settle();
  expect(router.currentRoute.value.name).toBe("home");
  await router.push("/no/such/page");
  expect(router.currentRoute.value.name).toBe("home");
});

it("moves the focus to the new view", async () => {
  const { page } = await visit(App, "/");
  await page.get("td a").trigger("click");
  await settle();
  expect(document.activeElement).toBe(page.get("main").element);
});

it("offers one action and nothing to fill in: no cancel, filter, refresh or export", async () => {
  const { page, router } = await visit(App, "/");
  expect(page.findAll("button")).toHaveLength(1);
  expect(page.findAll("input, select, textarea")).toHaveLength(0);
  await router.push("/jobs/a");
  await settle();
  expect(page.findAll("button, input, select, textarea")).toHaveLength(0);
});
