import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Job } from "../../../protocol/job.ts";
import JobsList from "../../../src/components/JobsList.vue";
import { createAnswer, createBackend, job, json, settle, visit } from "../backend.ts";

const POLL_MS = 5_000;

let backend: ReturnType<typeof createBackend>;

beforeEach(() => {
  vi.useFakeTimers();
  backend = createBackend();
});

afterEach(() => {
  vi.useRealTimers();
  document.body.innerHTML = "";
});

const visitList = () => visit(JobsList);

describe("the jobs list", () => {
  it("shows status, name, creation time and id of each job, in the backend's order", async () => {
    backend.jobs(job("b"), job("c", "failed"), job("a", "queued"));
    const { page } = await visitList();
    expect(page.findAll("th").map((cell) => cell.text())).toEqual([
      "Status",
      "Name",
      "Created",
      "ID",
    ]);
    const created = new Date("2026-03-07T12:34:56.000Z").toLocaleString();
    expect(
      page.findAll("tbody tr").map((row) => row.findAll("td").map((cell) => cell.text())),
    ).toEqual([
      ["running", "name of b", created, "b"],
      ["failed", "name of c", created, "c"],
      ["queued", "name of a", created, "a"],
    ]);
  });

  it("says beside the name of a job that nobody follows when it last reported, as time goes on", async () => {
    const lastHeardAt = new Date(Date.now() - 5 * 60_000).toISOString();
    backend.jobs({ ...job("a"), lastHeardAt }, job("b"));
    const { page } = await visitList();
    const names = () => page.findAll("td.name").map((cell) => cell.text());
    expect(names()).toEqual(["name of a last reported 5 minutes ago", "name of b"]);
    await vi.advanceTimersByTimeAsync(80_000);
    expect(names()[0]).toContain("last reported 6 minutes ago");
    backend.jobs(job("a"), job("b"));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(names()[0]).toBe("name of a");
  });

  it("draws how far a running job is, as its polls say", async () => {
    backend.jobs({ ...job("a"), progress: 0.25 } as Job, job("b", "completed"));
    const { page } = await visitList();
    expect(page.findAll(".progress")).toHaveLength(1);
    expect(page.get(".progress").attributes("aria-valuenow")).toBe("25");
    backend.jobs({ ...job("a"), progress: 0.5 } as Job, job("b", "completed"));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.get(".progress").attributes("aria-valuenow")).toBe("50");
  });

  it("shows nothing for an invalid creation time", async () => {
    backend.jobs({ ...job("a"), createdAt: "no time" });
    const { page } = await visitList();
    expect(page.get("td.created").text()).toBe("");
  });

  it.each(["queued", "running", "completed", "failed", "cancelled"] as const)(
    "gives the cell of a %s job a class for its colour",
    async (status) => {
      backend.jobs(job("a", status));
      const { page } = await visitList();
      expect(page.get("td").classes()).toContain(`status-${status}`);
    },
  );

  it("links the name to the job's page", async () => {
    backend.jobs(job("a/b c"));
    const { page, router } = await visitList();
    const link = page.get("td a");
    expect(link.text()).toBe("name of a/b c");
    expect(link.attributes("title")).toBe("name of a/b c");
    await link.trigger("click");
    await settle();
    expect(router.currentRoute.value.params).toEqual({ id: "a/b c" });
  });

  it("goes to the job's page on a click anywhere in its row", async () => {
    backend.jobs(job("a"), job("b"));
    const { page, router } = await visitList();
    await page.findAll("tbody tr")[1]!.get("td.created").trigger("click");
    await settle();
    expect(router.currentRoute.value.fullPath).toBe("/jobs/b");
  });

  it("opens another tab on a click with a modifier", async () => {
    backend.jobs(job("a"));
    const open = vi.fn();
    vi.stubGlobal("open", open);
    const { page, router } = await visitList();
    await page.get("td.id").trigger("click", { ctrlKey: true });
    await settle();
    expect(open).toHaveBeenCalledWith(router.resolve("/jobs/a").href);
    expect(router.currentRoute.value.fullPath).toBe("/");
  });

  it("stays when the click ends a selection of text", async () => {
    backend.jobs(job("a"));
    const { page, router } = await visitList();
    getSelection()!.selectAllChildren(page.get("td.id").element);
    await page.get("td.id").trigger("click");
    await settle();
    expect(router.currentRoute.value.fullPath).toBe("/");
  });

  it("reads No jobs yet. once it knows that there are none", async () => {
    const answer = createAnswer();
    backend.on("GET api/jobs", answer.promise);
    const { page } = await visitList();
    expect(page.text()).not.toContain("No jobs yet.");
    answer.give(json({ jobs: [] }));
    await settle();
    expect(page.get(".empty").text()).toBe("No jobs yet.");
  });

  it("asks at mount, then every 5 seconds, until it is unmounted", async () => {
    const { page } = await visitList();
    expect(backend.count("GET api/jobs")).toBe(1);
    await vi.advanceTimersByTimeAsync(POLL_MS - 500);
    expect(backend.count("GET api/jobs")).toBe(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(backend.count("GET api/jobs")).toBe(2);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(backend.count("GET api/jobs")).toBe(3);
    page.unmount();
    await vi.advanceTimersByTimeAsync(3 * POLL_MS);
    expect(backend.count("GET api/jobs")).toBe(3);
  });

  it("shows the jobs of a later poll", async () => {
    backend.jobs(job("a"));
    const { page } = await visitList();
    backend.jobs(job("b", "queued"), job("a", "completed"));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.findAll("td.status").map((cell) => cell.text())).toEqual(["queued", "completed"]);
  });

  it("has one request in flight at a time", async () => {
    const answer = createAnswer();
    backend.on("GET api/jobs", answer.promise);
    await visitList();
    await vi.advanceTimersByTimeAsync(3 * POLL_MS);
    expect(backend.count("GET api/jobs")).toBe(1);
    answer.give(json({ jobs: [] }));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(backend.count("GET api/jobs")).toBe(2);
  });

  it("keeps the last good rows when a poll fails, says so, and recovers", async () => {
    backend.jobs(job("a"));
    const { page } = await visitList();
    backend.on("GET api/jobs", () => json({ error: "The disk is on fire." }, 500));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.findAll("tbody tr")).toHaveLength(1);
    expect(page.get(".notice").text()).toContain("The disk is on fire.");
    backend.jobs(job("a"), job("b"));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.findAll("tbody tr")).toHaveLength(2);
    expect(page.find(".notice").exists()).toBe(false);
  });

  it.each([
    ["no connection", () => Promise.reject(new TypeError("fetch failed")), "isn't responding"],
    ["a response that isn't JSON", () => new Response("<html>"), "unexpected response"],
    ["a list that breaks the contract", () => json([job("a")]), "unexpected response"],
    ["a job of unknown shape", () => json({ jobs: [{ id: 1 }] }), "unexpected response"],
    ["a proxy's error", () => new Response("<p>", { status: 502 }), "responded with 502"],
  ])("says in a sentence what is wrong: %s", async (_, answer, words) => {
    backend.on("GET api/jobs", answer);
    const { page } = await visitList();
    expect(page.get(".notice").text()).toContain(words);
    expect(page.text()).not.toContain("No jobs yet.");
  });

  it("keeps its jobs when a response has the last one's tag", async () => {
    const tagged = (name: string) =>
      new Response(JSON.stringify({ jobs: [job("a", "running", name)] }), {
        headers: { etag: '"same"' },
      });
    backend.on("GET api/jobs", () => tagged("first"));
    const { page } = await visitList();
    backend.on("GET api/jobs", () => tagged("not looked at"));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.get("td.name").text()).toBe("first");
    backend.jobs(job("a", "running", "other"));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.get("td.name").text()).toBe("other");
  });
});

describe("a long list of jobs", () => {
  const COUNT = 170;

  /** Reports to the page whether a group of rows is near the viewport. */
  let setNear: (group: Element, isNear: boolean) => Promise<void>;

  beforeEach(() => {
    const observers = new Map<Element, (entries: unknown[]) => void>();
    vi.stubGlobal(
      "IntersectionObserver",
      class {
        private readonly notify: (entries: unknown[]) => void;
        constructor(notify: (entries: unknown[]) => void) {
          this.notify = notify;
        }
        observe(group: Element): void {
          observers.set(group, this.notify);
        }
        disconnect(): void {}
      },
    );
    setNear = async (group, isIntersecting) => {
      observers.get(group)!([{ isIntersecting }]);
      await settle();
    };
    backend.jobs(...Array.from({ length: COUNT }, (_, n) => job(`j${n}`)));
  });

  afterEach(() => void vi.unstubAllGlobals());

  it("has rows at its ends and near the viewport, and searchable text elsewhere", async () => {
    const { page } = await visitList();
    const groups = page.findAll("tbody");
    expect(groups.map((group) => group.findAll("a").length)).toEqual([20, 0, 0, 50]);
    expect(groups[1]!.text().split("\n")[0]).toBe("running  name of j20  j20");
    expect(groups[1]!.attributes("aria-hidden")).toBe("true");
    await setNear(groups[1]!.element, true);
    expect(groups.map((group) => group.findAll("a").length)).toEqual([20, 50, 0, 50]);
    expect(groups[1]!.attributes("aria-hidden")).toBeUndefined();
    await setNear(groups[1]!.element, false);
    expect(groups.map((group) => group.findAll("a").length)).toEqual([20, 0, 0, 50]);
  });

  it("gives screen readers the number of rows and each row's place", async () => {
    const { page } = await visitList();
    expect(page.get("table").attributes("aria-rowcount")).toBe(String(COUNT + 1));
    const rows = page.findAll("tr[aria-rowindex]").map((row) => row.attributes("aria-rowindex"));
    expect([rows[0], rows[1], rows.at(-1)]).toEqual(["1", "2", String(COUNT + 1)]);
  });

  it("keeps the rows with the focus, however far away", async () => {
    const { page } = await visitList();
    const group = page.findAll("tbody")[1]!;
    await setNear(group.element, true);
    const link = group.get("a").element as HTMLElement;
    link.focus();
    await setNear(group.element, false);
    expect(document.activeElement).toBe(link);
    link.blur();
    await settle();
    expect(group.findAll("a")).toHaveLength(0);
  });

  it("leaves rows and focus as they are when a job is added at the top", async () => {
    const { page } = await visitList();
    const last = page.findAll("tbody").at(-1)!.findAll("a").at(-1)!.element as HTMLElement;
    last.focus();
    backend.jobs(job("new"), ...Array.from({ length: COUNT }, (_, n) => job(`j${n}`)));
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(page.findAll("tbody a")[0]!.text()).toBe("name of new");
    expect(document.activeElement).toBe(last);
  });
});
