import type { VueWrapper } from "@vue/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RunEnd } from "../../../protocol/http.ts";
import App from "../../../src/App.vue";
import { createBackend, createOutput, json, settle, visit } from "../backend.ts";
import { hide, setHidden } from "../visibility.ts";

const REATTACH_MS = 3_000;

let backend: ReturnType<typeof createBackend>;

beforeEach(() => {
  vi.useFakeTimers();
  backend = createBackend();
});

afterEach(() => {
  setHidden(false);
  vi.useRealTimers();
  document.body.innerHTML = "";
});

const button = (page: VueWrapper) => page.get<HTMLButtonElement>(".run-training button");
const isDisabled = (page: VueWrapper) => button(page).element.disabled;
const output = (page: VueWrapper) => page.get(".run-training pre").element.textContent;
const notice = (page: VueWrapper) => page.get(".run-training [role=alert]").text();

async function click(page: VueWrapper): Promise<void> {
  await button(page).trigger("click");
  await settle();
}

/** Answers the next `POST api/train` with an output that the test writes. */
function nextRun() {
  const run = createOutput();
  backend.on("POST api/train", () => run.response());
  return run;
}

describe("the label of the Run training action", () => {
  it("names the trainer that was found", async () => {
    const { page } = await visit(App);
    expect(button(page).text()).toBe("Run training: date-normalizer");
    expect(isDisabled(page)).toBe(false);
  });

  it("says what to write when nothing is exposed", async () => {
    backend.on("GET api/manifest", () => json({ trainer: null }));
    const { page } = await visit(App);
    expect(button(page).text()).toBe(
      "No trainer in src/kit/index.ts yet. Add createTrainer(...) and pass it to createKit.",
    );
    expect(isDisabled(page)).toBe(true);
  });

  it("shows the error of a failed build, with all its lines", async () => {
    const error = 'src/kit/index.ts:4:2: Expected "}"\n\n  4 │ a\n    ╵ ^';
    backend.on("GET api/manifest", () => json({ error }, 422));
    const { page } = await visit(App);
    expect(button(page).element.textContent).toBe(`Couldn't read manifest: ${error}`);
    expect(isDisabled(page)).toBe(true);
  });

  it("says what to do when Kit isn't responding", async () => {
    backend.on("GET api/manifest", () => Promise.reject(new TypeError("fetch failed")));
    const { page } = await visit(App);
    expect(button(page).text()).toBe(
      "Couldn't read manifest: Kit isn't responding. Check that kit ui is still running. Then reload the page.",
    );
  });

  it("claims nothing and can't be clicked before the manifest arrives", async () => {
    backend.on("GET api/manifest", () => new Promise(() => {}));
    const { page } = await visit(App);
    expect(button(page).text()).toBe("Reading src/kit/index.ts…");
    expect(isDisabled(page)).toBe(true);
  });

  it("is read once per page load, however often Home is visited", async () => {
    const { router } = await visit(App);
    for (const address of ["/jobs/a", "/", "/jobs/b", "/"]) {
      await router.push(address);
      await settle();
    }
    expect(backend.count("GET api/manifest")).toBe(1);
  });
});

describe("a run", () => {
  it("is started by a click, once, and shows what it prints as it prints it", async () => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    await click(page);
    expect(backend.count("POST api/train")).toBe(1);
    run.write("step 1\n");
    await settle();
    expect(output(page)).toBe("step 1\n");
    run.write("step 2\r\u001b[1mstep 3");
    await settle();
    expect(output(page)).toBe("step 1\nstep 3");
    expect(page.get(".run-training pre .bold").text()).toBe("step 3");
  });

  it("is started once by two clicks at once", async () => {
    nextRun();
    const { page } = await visit(App);
    button(page).element.click();
    button(page).element.click();
    await settle();
    expect(backend.count("POST api/train")).toBe(1);
  });

  it("disables the button until it ends", async () => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    expect(isDisabled(page)).toBe(true);
    expect(button(page).text()).toBe("Run training: date-normalizer");
    run.end();
    await settle();
    expect(isDisabled(page)).toBe(false);
  });

  it("shows a character whole when its bytes arrive apart, and keeps a byte order mark", async () => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    for (const byte of new TextEncoder().encode("\uFEFFé → 😀")) run.write(new Uint8Array([byte]));
    await settle();
    expect(output(page)).toBe("\uFEFFé → 😀");
  });

  it("replaces the output of the run before", async () => {
    const first = nextRun();
    const { page } = await visit(App);
    await click(page);
    first.write("first");
    first.end();
    await settle();
    const second = nextRun();
    await click(page);
    second.write("second");
    await settle();
    expect(output(page)).toBe("second");
  });

  it("is still shown after a visit to a job", async () => {
    const run = nextRun();
    const { page, router } = await visit(App);
    await click(page);
    run.write("before, ");
    await router.push("/jobs/a");
    await settle();
    run.write("during, ");
    await settle();
    await router.push("/");
    run.write("after");
    await settle();
    expect(output(page)).toBe("before, during, after");
    expect(isDisabled(page)).toBe(true);
  });

  it("says how much is not shown of a very long output", async () => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    run.write("0123456789\n".repeat(400_000));
    await settle();
    expect(page.get(".run-training .notice").text()).toMatch(
      /^The first 3,9\d\d,\d{3} characters are not shown\./,
    );
  });

  it("that the server refuses leaves a sentence and the output before", async () => {
    const first = nextRun();
    const { page } = await visit(App);
    await click(page);
    first.write("first");
    first.end();
    await settle();
    backend.on("POST api/train", () => json({ error: "kit start cannot be found." }, 500));
    await click(page);
    expect(notice(page)).toBe("kit start cannot be found.");
    expect(output(page)).toBe("first");
    expect(isDisabled(page)).toBe(false);
  });

  it("that another tab has in flight is shown in place of a second one", async () => {
    const { page } = await visit(App);
    const other = createOutput();
    backend.on("POST api/train", () => json({ error: "A run is in flight." }, 409));
    backend.on("GET api/train", () => other.response());
    await click(page);
    other.write("theirs");
    await settle();
    expect(notice(page)).toBe("A run is in flight.");
    expect(output(page)).toBe("theirs");
    expect(isDisabled(page)).toBe(true);
    other.end();
    await settle();
    expect(page.find(".run-training [role=alert]").exists()).toBe(false);
    expect(isDisabled(page)).toBe(false);
  });

  it("in flight when the page is loaded is shown from its first byte", async () => {
    const run = createOutput();
    backend.on("GET api/train", () => run.response());
    run.write("from the start, ");
    const { page } = await visit(App);
    run.write("and on");
    await settle();
    expect(isDisabled(page)).toBe(true);
    expect(output(page)).toBe("from the start, and on");
    run.end();
    await settle();
    expect(isDisabled(page)).toBe(false);
  });

  it("can't be started before it is known whether one is in flight", async () => {
    backend.on("GET api/train", () => new Promise(() => {}));
    const { page } = await visit(App);
    expect(isDisabled(page)).toBe(true);
  });

  it("can be started when the server can't say whether one is in flight", async () => {
    backend.on("GET api/train", () => json({ error: "No such route." }, 404));
    const { page } = await visit(App);
    expect(isDisabled(page)).toBe(false);
  });

  it("is shown from its first byte again after a lost connection", async () => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    run.write("one ");
    await settle();
    backend.on("GET api/train", () => Promise.reject(new TypeError("fetch failed")));
    run.breakOff();
    await settle();
    expect(notice(page)).toContain("Connection lost.");
    expect(output(page)).toBe("one ");
    expect(isDisabled(page)).toBe(true);
    await vi.advanceTimersByTimeAsync(2 * REATTACH_MS);

    const again = createOutput();
    backend.on("GET api/train", () => again.response());
    again.write("one two");
    await vi.advanceTimersByTimeAsync(REATTACH_MS);
    await settle();
    expect(output(page)).toBe("one two");
    expect(page.find(".run-training [role=alert]").exists()).toBe(false);
    expect(isDisabled(page)).toBe(true);
    again.end();
    await settle();
    expect(isDisabled(page)).toBe(false);
  });

  it("is read on over a new connection once nothing has come for 40 s", async () => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    run.write("one ");
    await settle();
    backend.on("GET api/train", () => again.response());
    const again = createOutput();
    again.write("one two");
    await vi.advanceTimersByTimeAsync(39_000);
    expect(run.isCancelled()).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    await settle();
    expect(run.isCancelled()).toBe(true);
    expect(output(page)).toBe("one two");
    // It may only be that the run prints nothing.
    expect(page.find(".run-training [role=alert]").exists()).toBe(false);
    again.end();
    await settle();
    expect(isDisabled(page)).toBe(false);
  });

  it("that another tab starts is shown, and disables the button", async () => {
    const jobs = (run: string, state: string) =>
      backend.on("GET api/jobs", () => {
        const headers = { "Kit-Run": run, "Kit-Run-Status": state };
        return new Response('{"jobs":[]}', { headers });
      });
    const first = createOutput();
    first.write("the first");
    first.end();
    backend.on("GET api/train", () => first.response("r1", "completed"));
    jobs("r1", "completed");
    const { page } = await visit(App);
    expect(output(page)).toBe("the first");
    const asked = backend.count("GET api/train?run=r1&from=9");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(backend.count("GET api/train?run=r1&from=9")).toBe(asked);

    const second = createOutput();
    second.write("the second");
    backend.on("GET api/train?run=r1&from=9", () => second.response("r2"));
    jobs("r2", "running");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(output(page)).toBe("the second");
    expect(isDisabled(page)).toBe(true);
    const rest = createOutput();
    rest.end();
    backend.on("GET api/train?run=r2&from=10", () =>
      rest.response("r2", "failed", "The training process died – killed?"),
    );
    second.end();
    await settle();
    expect(page.get(".run-status").text()).toBe("run ended: failed");
    expect(page.get(".run-training [role=alert]").text()).toBe(
      "The training process died – killed?",
    );
    expect(isDisabled(page)).toBe(false);
  });

  it.each([
    ["there is none in flight any more", () => new Response(null, { status: 204 })],
    ["the server can't say", () => json({ error: "No such route." }, 404)],
  ])("that was lost says where its output is when %s", async (_, answer) => {
    const run = nextRun();
    const { page } = await visit(App);
    await click(page);
    run.write("one");
    await settle();
    backend.on("GET api/train", answer);
    run.breakOff();
    await settle();
    await vi.advanceTimersByTimeAsync(REATTACH_MS);
    await settle();
    expect(notice(page)).toContain(".kit/run/output.log");
    expect(output(page)).toBe("one");
    expect(isDisabled(page)).toBe(false);
  });
});

describe("a run that has ended", () => {
  const runStatus = (page: VueWrapper) => page.get(".run-status");

  /** A server's response with the last run's whole output. */
  function lastRun(status: RunEnd, path = "GET api/train", run = "r1") {
    const last = createOutput();
    backend.on(path, () => last.response(run, status));
    return last;
  }

  it.each(["completed", "failed", "cancelled"] as const)(
    "is shown as %s after a page load, in that status's colour",
    async (status) => {
      const last = lastRun(status);
      last.write("all of it");
      last.end();
      const { page } = await visit(App);
      expect(output(page)).toBe("all of it");
      expect(runStatus(page).text()).toBe(`run ended: ${status}`);
      expect(runStatus(page).classes()).toContain(`status-${status}`);
      expect(isDisabled(page)).toBe(false);
    },
  );

  it("is shown before another can be started, so that their outputs don't mix", async () => {
    const last = lastRun("failed");
    const { page } = await visit(App);
    last.write("one ");
    await settle();
    expect(isDisabled(page)).toBe(true);
    expect(runStatus(page).text()).toBe("");
    last.end();
    await settle();
    expect(isDisabled(page)).toBe(false);
  });

  it("gives way to the next one", async () => {
    const last = lastRun("failed");
    last.write("last");
    last.end();
    const { page } = await visit(App);
    const run = createOutput();
    backend.on("POST api/train", () => run.response("r2"));
    await click(page);
    run.write("next");
    await settle();
    expect(output(page)).toBe("next");
    const time = { hour: "2-digit", minute: "2-digit" } as const;
    const started = new Date("2026-03-07T12:34:56.000Z").toLocaleTimeString([], time);
    expect(runStatus(page).text()).toBe(`running · started ${started}`);
    expect(runStatus(page).classes()).not.toContain("status-failed");
  });

  it("while the page watched it says how as well", async () => {
    const run = createOutput();
    backend.on("POST api/train", () => run.response("r1"));
    const { page } = await visit(App);
    await click(page);
    run.write("failed: no");
    lastRun("failed", "GET api/train?run=r1&from=10").end();
    run.end();
    await settle();
    expect(runStatus(page).text()).toBe("run ended: failed");
    expect(output(page)).toBe("failed: no");
    expect(isDisabled(page)).toBe(false);
  });

  it("has no status when the server doesn't send one", async () => {
    const run = createOutput();
    backend.on("POST api/train", () => run.response("r1"));
    const { page } = await visit(App);
    await click(page);
    run.end();
    await settle();
    expect(runStatus(page).text()).toBe("run ended");
    expect(isDisabled(page)).toBe(false);
  });

  it("is not read again at each visit of Home", async () => {
    const last = lastRun("completed");
    last.write("last");
    last.end();
    const { page, router } = await visit(App);
    const again = lastRun("completed", "GET api/train?run=r1&from=4");
    await router.push("/jobs/a");
    await settle();
    await router.push("/");
    await settle();
    expect(again.isCancelled()).toBe(true);
    expect(output(page)).toBe("last");
    expect(runStatus(page).text()).toBe("run ended: completed");
  });

  it("says how it ended and where its output is after a lost connection", async () => {
    const last = lastRun("completed");
    const { page } = await visit(App);
    last.write("one ");
    await settle();
    last.breakOff();
    await settle();
    expect(notice(page)).toContain(".kit/run/output.log");
    expect(runStatus(page).text()).toBe("run ended: completed");
    expect(isDisabled(page)).toBe(false);
  });

  it("leaves the sentence of a refused start in its place", async () => {
    const last = lastRun("failed");
    last.end();
    const { page } = await visit(App);
    lastRun("failed", "GET api/train?run=r1&from=0");
    backend.on("POST api/train", () => json({ error: "kit start cannot be found." }, 500));
    await click(page);
    expect(notice(page)).toBe("kit start cannot be found.");
    expect(runStatus(page).text()).toBe("run ended: failed");
  });
});

describe("a run in a tab that is hidden", () => {
  const REST = "GET api/train?run=r1&from=6";

  /** A run that has printed "step é" in a tab that is now hidden. */
  async function hideRun() {
    const run = createOutput();
    backend.on("POST api/train", () => run.response("r1"));
    const visited = await visit(App);
    await click(visited.page);
    // Cut inside the letter.
    run.write(new TextEncoder().encode("step é").subarray(0, 6));
    await settle();
    await hide(true);
    return { ...visited, run };
  }

  it("closes its connection, and shows the rest once the tab is visible", async () => {
    const { page, run } = await hideRun();
    expect(run.isCancelled()).toBe(true);
    expect(isDisabled(page)).toBe(true);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(backend.count(REST)).toBe(0);

    const rest = createOutput();
    backend.on(REST, () => rest.response("r1"));
    rest.write(new TextEncoder().encode("é").subarray(1));
    await hide(false);
    expect(output(page)).toBe("step é");
    expect(page.find(".run-training [role=alert]").exists()).toBe(false);
    expect(isDisabled(page)).toBe(true);
    rest.end();
    await settle();
    expect(output(page)).toBe("step é");
    expect(isDisabled(page)).toBe(false);
  });

  it("gives way to a newer run, from its first byte", async () => {
    const { page } = await hideRun();
    const newer = createOutput();
    backend.on(REST, () => newer.response("r2"));
    newer.write("newer");
    await hide(false);
    expect(output(page)).toBe("newer");
  });

  it("says where its output is when the server has forgotten the run", async () => {
    const { page } = await hideRun();
    backend.on(REST, () => new Response(null, { status: 204 }));
    await hide(false);
    expect(notice(page)).toContain(".kit/run/output.log");
    expect(isDisabled(page)).toBe(false);
  });

  it("is retried when the server doesn't respond as the tab becomes visible", async () => {
    const { page } = await hideRun();
    await hide(false);
    expect(notice(page)).toContain("Reconnecting…");
    const rest = createOutput();
    backend.on(REST, () => rest.response("r1"));
    await vi.advanceTimersByTimeAsync(REATTACH_MS);
    await settle();
    expect(page.find(".run-training [role=alert]").exists()).toBe(false);
  });

  it("is retried when too many clients read it already", async () => {
    const { page } = await hideRun();
    backend.on(REST, () => json({ error: "600 streams are open." }, 429));
    await hide(false);
    expect(notice(page)).toContain("Reconnecting…");
    backend.on(REST, () => createOutput().response("r1"));
    await vi.advanceTimersByTimeAsync(REATTACH_MS);
    await settle();
    expect(page.find(".run-training [role=alert]").exists()).toBe(false);
  });

  it("holds no connection when the tab was hidden from the start", async () => {
    setHidden(true);
    const run = createOutput();
    backend.on("GET api/train", () => run.response("r1"));
    const { page } = await visit(App);
    expect(run.isCancelled()).toBe(true);
    expect(isDisabled(page)).toBe(true);
    const again = createOutput();
    backend.on("GET api/train?run=r1&from=0", () => again.response("r1"));
    again.write("all of it");
    await hide(false);
    expect(output(page)).toBe("all of it");
  });

  it("shows its rest once when a click finds it still in flight", async () => {
    const { page } = await hideRun();
    backend.on(REST, () => json({ error: "Gone." }, 404));
    await hide(false);
    const again = createOutput();
    backend.on("POST api/train", () => json({ error: "A run is in flight." }, 409));
    backend.on(REST, () => again.response("r1"));
    again.write(new TextEncoder().encode("é, step").subarray(1));
    await click(page);
    expect(output(page)).toBe("step é, step");
  });
});
