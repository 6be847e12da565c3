import type { VueWrapper } from "@vue/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import App from "../../../src/App.vue";
import { createAnswer, createBackend, job, json, settle, visit } from "../backend.ts";
import { hide, setHidden } from "../visibility.ts";

let backend: ReturnType<typeof createBackend>;

beforeEach(() => {
  vi.useFakeTimers();
  backend = createBackend();
  backend.jobs(job("a"), job("b", "queued"));
});

afterEach(() => {
  setHidden(false);
  vi.useRealTimers();
  document.body.innerHTML = "";
});

const status = (page: VueWrapper) => page.get(".outcome .status-badge").text();
const lines = (page: VueWrapper) => page.get(".event-log pre").element.textContent.split("\n");

async function visitJob(id = "a") {
  const visited = await visit(App, `/jobs/${id}`);
  backend.stream().connect();
  await settle();
  return visited;
}

async function send(...frames: [event: string, data: unknown, id?: number][]): Promise<void> {
  for (const frame of frames) backend.stream().send(...frame);
  await settle();
}

describe("the job page", () => {
  it("follows the job's own stream, at an address relative to the page", async () => {
    await visit(App, "/jobs/a%2Fb");
    expect(backend.streams.map(({ url }) => url)).toEqual([
      "api/jobs/a%2Fb/events?history=thinned",
    ]);
  });

  it("asks for its own job, never for all", async () => {
    await visitJob();
    await send(["owner.away", "{}"], ["training.completed", { artifacts: [] }, 10], ["end", ""]);
    expect(backend.count("GET api/jobs/a")).toBeGreaterThan(1);
    expect(backend.count("GET api/jobs")).toBe(0);
  });

  it("starts from the job's status", async () => {
    const { page } = await visitJob("b");
    expect(status(page)).toBe("queued");
    expect(page.get("h1").text()).toBe("name of b");
    expect(page.get("h1").attributes("title")).toBe("name of b");
    expect(page.get(".slot").text()).toBe("No training.log events yet.");
  });

  it("says when a job that nobody follows last reported, until somebody follows it", async () => {
    const { page } = await visitJob();
    const heard = () => page.find(".outcome .last-reported");
    expect(heard().exists()).toBe(false);
    const lastHeardAt = new Date(Date.now() - 2 * 3_600_000).toISOString();
    backend.jobs({ ...job("a"), lastHeardAt });
    await send(["owner.away", "{}"]);
    expect([status(page), heard().text()]).toEqual(["running", "last reported 2 hours ago"]);
    backend.jobs(job("a"));
    await send(["owner.back", "{}"]);
    expect(heard().exists()).toBe(false);
  });

  it("moves to running, with a line, when the training starts", async () => {
    const { page } = await visitJob("b");
    await send(["training.started", '{"rows": 4000}', 10]);
    expect(status(page)).toBe("running");
    expect(lines(page)).toEqual(['[started] {"rows": 4000}']);
  });

  it("charts each loss and writes its line", async () => {
    const { page } = await visitJob();
    await send(
      ["training.log", { step: 1, loss: 4 }, 10],
      ["training.log", { step: 2, loss: null }, 20],
      ["training.log", { step: 3, loss: 2 }, 30],
    );
    expect(page.get(".slot path").attributes("d")).toBe("M0 0L640 200");
    expect(lines(page)).toEqual([
      "[log] step=1 loss=4",
      "[log] step=2 loss=n/a",
      "[log] step=3 loss=2",
    ]);
  });

  it("says how far the job is and what it does now, and nothing that it doesn't know", async () => {
    const { page } = await visitJob();
    const facts = () => page.findAll(".loss-chart + .facts div").map((fact) => fact.text());
    expect(facts()).toEqual([]);
    const time = (seconds: number) => JSON.stringify(new Date(seconds * 1000));
    await send(
      ["time", time(0)],
      ["training.started", { maxSteps: 40 }, 10],
      ["time", time(1)],
      ["training.log", { step: 1, loss: 4 }, 20],
      ["time", time(5)],
      ["training.log", { step: 3, learningRate: 0.001, evalLoss: 2.5 }, 30],
    );
    const shown = ["elapsed5s", "step3 of 40", "learning rate0.001"];
    expect(facts()).toEqual([...shown, "eval loss2.5"]);
    expect(page.get(".activity").text()).toBe("training, 1m 14s left");
    await send(["training.log", { step: 3, metrics: { accuracy: 0.5 } }, 40]);
    expect(facts()).toEqual([...shown, "accuracy0.5", "eval loss2.5"]);
  });

  it("says beside the curve which job it goes on from", async () => {
    const { page } = await visitJob();
    await send(["training.started", { resumedFrom: "b", resumedStep: 1_400 }, 10]);
    expect(page.get(".loss-chart .aside").text()).toBe("from step 1,400 of b");
    expect(page.get(".loss-chart a").attributes("href")).toBe("/jobs/b");
  });

  it("counts elapsed time on while no event comes, as when the model is asked, until the end", async () => {
    const { page } = await visitJob();
    const elapsed = () => page.findAll(".loss-chart + .facts dd")[0]?.text();
    const time = (seconds: number) => JSON.stringify(new Date(seconds * 1000));
    await send(
      ["time", time(0)],
      ["checkpoint.evaluating", { answered: 0, rows: 100 }, 10],
      ["time", time(5)],
      ["checkpoint.evaluating", { answered: 2, rows: 100 }, 20],
    );
    await vi.advanceTimersByTimeAsync(24_000);
    expect(elapsed()).toBe("29s");
    await send(["owner.back", "{}"]);
    expect(elapsed()).toBe("29s");
    await send(["time", time(31)], ["training.completed", { artifacts: [] }, 30]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(elapsed()).toBe("31s");
  });

  it("counts elapsed time from the last event, however much later the page opens", async () => {
    backend.jobs({ ...job("a"), log: { size: 20, quietMs: 780_000 } } as ReturnType<typeof job>);
    const { page } = await visitJob();
    const elapsed = () => page.findAll(".loss-chart + .facts dd")[0]?.text();
    const time = (seconds: number) => JSON.stringify(new Date(seconds * 1000));
    await send(["time", time(0)], ["training.started", {}, 10]);
    await send(["time", time(900)], ["training.log", { step: 1 }, 20]);
    expect(elapsed()).toBe("28m 00s");
    await send(["time", time(1_690)], ["training.log", { step: 2 }, 30]);
    expect(elapsed()).toBe("28m 10s");
  });

  it("writes a line for a checkpoint and leaves the chart as it is", async () => {
    const { page } = await visitJob();
    await send(["checkpoint.saved", '{"step":100}', 10]);
    expect(lines(page)).toEqual(['[checkpoint] {"step":100}']);
    expect(page.get(".slot").text()).toBe("No training.log events yet.");
  });

  it("counts the artifacts below the status when the job completes", async () => {
    const { page } = await visitJob();
    await send(["training.completed", { artifacts: [{}, {}, {}] }, 10]);
    expect(status(page)).toBe("completed");
    expect(page.get(".outcome .status-badge + p").text()).toBe("artifacts: 3");
  });

  it("says beneath the status of a completed job that its loss ended above where it began", async () => {
    const { page } = await visitJob();
    const losses = [6.2087, 6.3613, 44.34, 310.8, 650.2, 1557.1, 178.1, 106.3743];
    await send(
      ["training.started", { maxSteps: 40 }, 1],
      ...losses.map((loss, n): [string, unknown, number] => [
        "training.log",
        { step: n + 1, loss },
        n + 2,
      ]),
    );
    expect(page.find(".outcome .notice").exists()).toBe(false);
    await send(["training.completed", { artifacts: [{}] }, 20]);
    expect(page.get(".outcome .status-badge + p").text()).toBe("artifacts: 1");
    expect(page.get(".outcome .notice").text()).toBe(
      "The loss ended at 106.4, above the 6.209 where it began. Try a lower learningRate or more warmupSteps.",
    );
  });

  it("shows a failure's message beneath the status", async () => {
    const { page } = await visitJob();
    const error = "onCheckpoint threw: x is not a function\n    at trainer.ts:3";
    await send(["training.failed", { error }, 10]);
    expect(status(page)).toBe("failed");
    expect(page.get(".outcome .status-badge + p").element.textContent).toBe(error);
  });

  it("keeps the last 50 lines of a long stream and charts all of it", async () => {
    const { page } = await visitJob();
    await send(
      ...Array.from({ length: 2_000 }, (_, step): [string, unknown, number] => [
        "training.log",
        { step, loss: step % 2 },
        step + 1,
      ]),
    );
    expect(lines(page)).toHaveLength(50);
    expect(lines(page)[0]).toBe("[log] step=1950 loss=0");
    expect(page.get("[role=img]").attributes("aria-label")).toContain("1,999");
  });

  it("renders once per repaint, however many events arrive", async () => {
    const { page } = await visitJob();
    const path = page.vm.$nextTick;
    backend.stream().send("training.log", { step: 1, loss: 4 }, 10);
    await path();
    expect(page.find(".slot path").exists()).toBe(false);
    await settle();
    expect(page.find(".slot path").exists()).toBe(true);
  });

  it("keeps up in a hidden tab, which is never painted", async () => {
    vi.stubGlobal("requestAnimationFrame", () => 1);
    await visitJob("b");
    await send(["training.failed", { error: "x" }, 10]);
    await vi.advanceTimersByTimeAsync(300);
    expect(document.title).toBe("failed · name of b · Kit");
    vi.unstubAllGlobals();
  });

  it("writes [stream error] and leaves the reconnection to the browser", async () => {
    const { page } = await visitJob();
    await send(["training.started", {}, 10], ["training.log", { step: 1, loss: 4 }, 20]);
    backend.stream().fail();
    await settle();
    expect(lines(page).at(-1)).toBe("[stream error]");
    expect(page.get(".event-log .aside").text()).toBe("reconnecting…");
    expect(backend.streams).toHaveLength(1);
    expect(backend.openStreams()).toHaveLength(1);

    backend.stream().connect();
    await send(["training.log", { step: 2, loss: 3 }, 30]);
    expect(page.get(".event-log .aside").text()).toBe("live");
    expect(lines(page).slice(-2)).toEqual(["[stream error]", "[log] step=2 loss=3"]);
  });

  it("opens the stream anew from its last event where nothing, not even a heartbeat, came for 40 s", async () => {
    const { page } = await visitJob();
    await send(["training.started", {}, 10]);
    for (let beats = 0; beats < 4; beats++) {
      await vi.advanceTimersByTimeAsync(15_000);
      await send(["alive", {}]);
    }
    await vi.advanceTimersByTimeAsync(39_000);
    expect(backend.streams).toHaveLength(1);
    expect(lines(page)).toEqual(["[started] {}"]);
    await vi.advanceTimersByTimeAsync(1_000);
    await settle();
    expect(lines(page)).toEqual(["[started] {}", "[stream error]"]);
    expect(backend.streams.map(({ url }) => url)).toEqual([
      "api/jobs/a/events?history=thinned",
      "api/jobs/a/events?history=thinned&from=10",
    ]);
    expect(backend.openStreams()).toHaveLength(1);
    backend.stream().connect();
    await send(["training.log", { step: 2, loss: 3 }, 30]);
    expect(page.get(".event-log .aside").text()).toBe("live");
    expect(lines(page).at(-1)).toBe("[log] step=2 loss=3");
  });

  it("says whether a job without events may still get one", async () => {
    const { page } = await visitJob("b");
    const placeholder = () => page.get(".event-log pre").attributes("data-placeholder");
    expect(placeholder()).toBe("No events yet.");
    backend.jobs(job("b", "cancelled"));
    await send(["end", {}]);
    await settle();
    expect(placeholder()).toBe("No events.");
  });

  it("doubles nothing when a reconnection replays from the beginning", async () => {
    const { page } = await visitJob();
    const frames: Parameters<typeof send> = [
      ["training.started", {}, 10],
      ["training.log", { step: 1, loss: 4 }, 20],
    ];
    await send(...frames);
    backend.stream().fail();
    await send(...frames, ["training.log", { step: 2, loss: 3 }, 30]);
    expect(lines(page)).toEqual([
      "[started] {}",
      "[log] step=1 loss=4",
      "[stream error]",
      "[log] step=2 loss=3",
    ]);
    expect(page.get(".slot path").attributes("d")).toBe("M0 0L640 200");
  });

  it("closes the stream at end and reads the status once more, so that cancelled shows", async () => {
    const { page } = await visitJob();
    await send(["training.started", {}, 10]);
    backend.jobs(job("a", "cancelled"));
    const before = backend.count("GET api/jobs/a");
    await send(["end", ""]);
    expect(status(page)).toBe("cancelled");
    expect(backend.openStreams()).toEqual([]);
    expect(backend.streams).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(backend.count("GET api/jobs/a")).toBe(before + 1);
  });

  it("shows the last events with the end, without waiting for a repaint", async () => {
    const { page } = await visitJob();
    backend.stream().send("training.completed", { artifacts: [] }, 10);
    backend.stream().send("end", "");
    await page.vm.$nextTick();
    expect(status(page)).toBe("completed");
  });

  it("retries for the final status when the list fails at end", async () => {
    const { page } = await visitJob();
    backend.on("GET api/jobs/a", () => json({ error: "Busy." }, 503));
    await send(["training.started", {}, 10], ["end", ""]);
    expect(status(page)).toBe("running");
    expect(page.get(".event-log .aside").text()).toBe("reconnecting…");
    backend.jobs(job("a", "cancelled"));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(status(page)).toBe("cancelled");
  });

  it("does not let an older list undo a newer event", async () => {
    const answer = createAnswer();
    backend.on("GET api/jobs/a", answer.promise);
    const { page } = await visitJob();
    await send(["training.completed", { artifacts: [] }, 10]);
    answer.give(json({ jobs: [job("a", "running")] }));
    await settle();
    expect(status(page)).toBe("completed");
  });

  it("reads the list again at end, even after a recent request", async () => {
    const answer = createAnswer();
    backend.on("GET api/jobs/a", answer.promise);
    const { page } = await visitJob();
    await send(["training.started", {}, 10], ["end", ""]);
    backend.jobs(job("a", "cancelled"));
    answer.give(json({ jobs: [job("a", "running")] }));
    await settle();
    expect(status(page)).toBe("cancelled");
  });

  it("ends without an error when a finished job's reconnection is refused", async () => {
    const { page } = await visitJob();
    backend.jobs(job("a", "completed"));
    backend.stream().fail({ closed: true });
    await settle();
    expect(status(page)).toBe("completed");
    expect(page.get(".event-log .aside").text()).toBe("");
  });

  it("tries again by itself when the browser has given up on a running job", async () => {
    const { page } = await visitJob();
    await send(["training.log", { step: 1, loss: 2 }, 10]);
    backend.stream().fail({ closed: true });
    await settle();
    expect(page.get(".event-log .aside").text()).toBe("reconnecting…");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(backend.streams).toHaveLength(2);
    expect(backend.stream().url).toContain("from=10");
    backend.stream().connect();
    await settle();
    expect(page.get(".event-log .aside").text()).toBe("live");
  });

  it("connects again when the stream has ended but the list says that the job goes on", async () => {
    const { page } = await visitJob();
    await send(["training.log", { step: 1, loss: 2 }, 10]);
    await send(["training.failed", { error: "gone" }], ["end", {}]);
    expect(page.get(".event-log .aside").text()).toBe("reconnecting…");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(backend.stream().url).toContain("from=10");
    backend.stream().connect();
    await send(["training.log", { step: 2, loss: 1 }, 20]);
    expect(status(page)).toBe("running");
    expect(page.get(".event-log .aside").text()).toBe("live");
  });

  it("says so when the project has no such job, with a way home", async () => {
    const { page } = await visit(App, "/jobs/nope");
    expect(page.text()).not.toContain("No job nope");
    backend.stream().fail({ closed: true });
    await settle();
    expect(page.get("main h1").text()).toBe("No job nope in this project.");
    expect(page.get("main a").attributes("href")).toBe("/");
  });

  it("does not call a job unknown while the list can't be read", async () => {
    backend.on("GET api/jobs/a", () => Promise.reject(new TypeError("fetch failed")));
    const { page } = await visit(App, "/jobs/a");
    backend.stream().fail({ closed: true });
    await settle();
    expect(page.text()).not.toContain("No job a");
    backend.jobs(job("a", "failed"));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(status(page)).toBe("failed");
  });

  it("shows status and name in the tab's title, and the status in its icon", async () => {
    document.head.innerHTML = '<link rel="icon" href="favicon/none.svg" />';
    const icon = () => /(\w+)\.svg/.exec(document.querySelector("link")?.href ?? "")?.[1];
    await visitJob();
    expect([document.title, icon()]).toEqual(["running · name of a · Kit", "running"]);
    await send(["training.completed", { artifacts: [] }, 10]);
    expect([document.title, icon()]).toEqual(["completed · name of a · Kit", "completed"]);
  });
});

describe("the page of a job whose owner is silent", () => {
  const error = "The process that runs this job stopped reporting.";

  async function visitSilent() {
    const { page } = await visitJob();
    await send(["training.started", "{}", 10], ["training.failed", { error }]);
    expect(page.get(".outcome").text()).toBe(`failed${error}`);
    return page;
  }

  it("goes back to running, without the error, when the owner is back", async () => {
    const page = await visitSilent();
    await send(["owner.back", "{}"]);
    expect(page.get(".outcome").text()).toBe("running");
    expect(lines(page)).toEqual(["[started] {}"]);
    expect(backend.openStreams()).toHaveLength(1);
  });

  it("goes back to queued, as listed, when the job had not started", async () => {
    const { page } = await visitJob("b");
    backend.jobs(job("b", "failed"));
    await send(["training.failed", { error }]);
    backend.jobs(job("b", "queued"));
    await send(["owner.back", "{}"]);
    expect(page.get(".outcome").text()).toBe("queued");
  });

  it("repeats the presumption only if a new connection does", async () => {
    const page = await visitSilent();
    backend.stream().fail();
    await settle();
    expect(status(page)).toBe("failed");
    backend.stream().connect();
    await settle();
    expect(page.get(".outcome").text()).toBe("running");
    await send(["training.failed", { error }]);
    expect(page.get(".outcome").text()).toBe(`failed${error}`);
  });

  it("shows the listed status while the tab is hidden, without an earlier error", async () => {
    const page = await visitSilent();
    await hide(true);
    await vi.advanceTimersByTimeAsync(5_000);
    await settle();
    expect(page.get(".outcome").text()).toBe("running");
  });
});

describe("going from job to job", () => {
  it("closes the one stream, opens the other, and mixes no events", async () => {
    const { page, router } = await visitJob("a");
    await send(["training.log", { step: 1, loss: 4 }, 10]);
    const left = backend.stream();
    await router.push("/jobs/b");
    await settle();
    left.send("training.log", { step: 2, loss: 3 }, 20);
    await send(["training.started", {}, 10]);
    expect(backend.openStreams().map(({ url }) => url)).toEqual([
      "api/jobs/b/events?history=thinned",
    ]);
    expect(lines(page)).toEqual(["[started] {}"]);
    expect(page.get(".slot").text()).toBe("No training.log events yet.");
    expect(document.title).toBe("running · name of b · Kit");
  });

  it("shows the whole history once when a job is visited again", async () => {
    const { page, router } = await visitJob("a");
    const history: Parameters<typeof send> = [
      ["training.started", {}, 10],
      ["training.log", { step: 1, loss: 4 }, 20],
      ["training.completed", { artifacts: [{}] }, 30],
    ];
    await send(...history, ["end", ""]);
    await router.push("/");
    await settle();
    expect(backend.openStreams()).toEqual([]);
    await router.push("/jobs/a");
    await settle();
    expect(page.text()).not.toContain("artifacts:");
    expect(page.get(".event-log .aside").text()).toBe("connecting…");
    await send(...history);
    expect(lines(page)).toEqual(["[started] {}", "[log] step=1 loss=4"]);
    expect(page.get(".outcome").text()).toContain("artifacts: 1");
  });

  it("drops pending events of the job that was left", async () => {
    const { page, router } = await visitJob("a");
    backend.stream().send("training.failed", { error: "of a" }, 10);
    backend.stream().send("end", "");
    await router.push("/jobs/b");
    await settle();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(status(page)).toBe("queued");
    expect(page.text()).not.toContain("of a");
  });

  it("leaves nothing running behind", async () => {
    const { page } = await visitJob("a");
    backend.on("GET api/jobs/a", () => json({ error: "Busy." }, 503));
    await send(["end", ""]);
    // The next try, and the clock.
    expect(vi.getTimerCount()).toBe(2);
    page.unmount();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("stops retrying for the status once it is unmounted", async () => {
    const answer = createAnswer();
    const { page } = await visitJob("a");
    backend.on("GET api/jobs/a", answer.promise);
    await send(["end", ""]);
    page.unmount();
    answer.give(json({ error: "Busy." }, 503));
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("renders nothing after it is unmounted", async () => {
    const { page } = await visitJob("a");
    const before = vi.getTimerCount();
    backend.stream().send("training.log", { step: 1, loss: 4 }, 10);
    expect(vi.getTimerCount()).toBeGreaterThan(before);
    page.unmount();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("closes its stream while the tab is hidden, and reads the list for its status", async () => {
    const { page } = await visitJob();
    await send(["training.started", "{}", 10]);
    await hide(true);
    expect(backend.openStreams()).toEqual([]);
    backend.jobs(job("a", "cancelled"));
    await vi.advanceTimersByTimeAsync(5_000);
    await settle();
    expect(status(page)).toBe("cancelled");
  });

  it("resumes its stream where it broke off once the tab is visible", async () => {
    const { page } = await visitJob();
    await send(["training.started", "{}", 10], ["training.log", { step: 1, loss: 4 }, 20]);
    await hide(true);
    await hide(false);
    expect(backend.openStreams().map(({ url }) => url)).toEqual([
      "api/jobs/a/events?history=thinned&from=20",
    ]);
    backend.stream().connect();
    await send(["training.log", { step: 2, loss: 2 }, 30]);
    expect(lines(page).slice(1)).toEqual(["[log] step=1 loss=4", "[log] step=2 loss=2"]);
    const polled = backend.count("GET api/jobs/a");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(backend.count("GET api/jobs/a")).toBe(polled);
  });

  it("opens no stream in a tab that is hidden from the start", async () => {
    setHidden(true);
    await visit(App, "/jobs/a");
    expect(backend.streams).toEqual([]);
    await hide(false);
    expect(backend.streams.map(({ url }) => url)).toEqual(["api/jobs/a/events?history=thinned"]);
  });

  it("leaves an ended job as it is when the tab is hidden and shown", async () => {
    const { page } = await visitJob();
    backend.jobs(job("a", "completed"));
    await send(["training.completed", { artifacts: [] }, 10], ["end", "{}"]);
    await hide(true);
    await hide(false);
    expect(backend.streams).toHaveLength(1);
    expect(status(page)).toBe("completed");
  });
});
