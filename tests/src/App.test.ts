import { beforeEach, expect, it, onTestFinished } from "vitest";
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

it("names the project's folder in the masthead and in the tab", async () => {
  onTestFinished(() => void delete document.documentElement.dataset.project);
  document.documentElement.dataset.project = "dates <2>";
  const { page } = await visit(App, "/jobs/a");
  expect(page.get(".masthead").text()).toContain("dates <2>");
  expect(document.title).toBe("running · name of a · dates <2> · Kit");
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
