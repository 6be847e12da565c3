import { type VueWrapper, flushPromises, mount } from "@vue/test-utils";
import { createPinia, setActivePinia } from "pinia";
import { vi } from "vitest";
import type { Component } from "vue";
import { type Router, createMemoryHistory } from "vue-router";
import {
  type RunEnd,
  RUN_ERROR_HEADER,
  RUN_HEADER,
  RUN_START_HEADER,
  RUN_STATUS_HEADER,
} from "../../protocol/http.ts";
import type { Job, JobStatus } from "../../protocol/job.ts";
import { createPageRouter } from "../../src/router.ts";

type Answer = () => Response | Promise<Response>;

/** A fake backend at the page's only boundary: `fetch` and `EventSource`. */
export function createBackend() {
  const answers: Record<string, Answer> = {
    "GET api/manifest": () => json({ trainer: { name: "date-normalizer" } }),
    "GET api/train": () => new Response(null, { status: 204 }),
    "GET api/jobs": () => json({ jobs: listed }),
  };
  const requests: string[] = [];
  const streams: FakeEventSource[] = [];

  let listed: Job[] = [];
  function answerOf(request: string): Answer | undefined {
    const [, id = ""] = /^GET api\/jobs\/([^/]+)$/.exec(request) ?? [];
    const found = listed.find((each) => encodeURIComponent(each.id) === id);
    if (id) return () => (found ? json(found) : json({ error: `There is no job ${id}.` }, 404));
  }

  vi.stubGlobal("fetch", async (path: string, init?: RequestInit) => {
    const request = `${init?.method ?? "GET"} ${path}`;
    requests.push(request);
    const answer = answers[request] ?? answerOf(request);
    if (!answer) throw new TypeError(`no answer to ${request}`);
    return answer();
  });
  vi.stubGlobal(
    "EventSource",
    class extends FakeEventSource {
      constructor(url: string) {
        super(url);
        streams.push(this);
      }
    },
  );

  return {
    requests,
    streams,
    on: (request: string, answer: Answer) => (answers[request] = answer),
    count: (request: string) => requests.filter((each) => each === request).length,
    /** As the list and each job's own route have them, unless `on` says otherwise. */
    jobs(...jobs: Job[]) {
      listed = jobs;
      answers["GET api/jobs"] = () => json({ jobs });
      for (const { id } of jobs) delete answers[`GET api/jobs/${id}`];
    },
    /** The latest stream. */
    stream: () => streams.at(-1)!,
    openStreams: () => streams.filter(({ readyState }) => readyState !== FakeEventSource.CLOSED),
  };
}

class FakeEventSource {
  static readonly CLOSED = 2;
  readyState = 0;
  readonly url: string;
  private readonly listeners = new Map<string, ((event: unknown) => void)[]>();
  private lastEventId = "";

  constructor(url: string) {
    this.url = url;
  }

  addEventListener(name: string, listener: (event: unknown) => void): void {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  close(): void {
    this.readyState = FakeEventSource.CLOSED;
  }

  /** A frame. Without an id it repeats the last one, like a browser. */
  send(event: string, data: unknown, id?: number): void {
    if (id !== undefined) this.lastEventId = String(id);
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.dispatch(event, { data: text, lastEventId: this.lastEventId });
  }

  connect(): void {
    this.readyState = 1;
    this.dispatch("open", {});
  }

  /** A broken connection: the browser tries again, or has given up. */
  fail({ closed = false } = {}): void {
    if (this.readyState === FakeEventSource.CLOSED) return;
    this.readyState = closed ? FakeEventSource.CLOSED : 0;
    for (const listener of this.listeners.get("error") ?? []) listener({});
  }

  private dispatch(name: string, event: object): void {
    if (this.readyState === FakeEventSource.CLOSED) return;
    for (const listener of this.listeners.get(name) ?? []) listener(event);
  }
}

export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** A response whose body the test writes as it goes. */
export function createOutput() {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (started) => void (controller = started),
    cancel: () => void (isCancelled = true),
  });
  return {
    /** From a server that names the run, if one is given. */
    response: (run?: string, status: RunEnd | "running" = "running", error?: string) =>
      new Response(body, {
        headers: {
          "content-type": "text/plain",
          ...(run && {
            [RUN_HEADER]: run,
            [RUN_STATUS_HEADER]: status,
            [RUN_START_HEADER]: "2026-03-07T12:34:56.000Z",
          }),
          ...(error && { [RUN_ERROR_HEADER]: encodeURIComponent(error) }),
        },
      }),
    isCancelled: () => isCancelled,
    write: (text: string | Uint8Array) =>
      controller.enqueue(typeof text === "string" ? new TextEncoder().encode(text) : text),
    end: () => controller.close(),
    breakOff: () => controller.error(new TypeError("network error")),
  };
}

/** A response that the test sends later. */
export function createAnswer() {
  let give!: (response: Response) => void;
  const answer = new Promise<Response>((resolve) => (give = resolve));
  return { promise: () => answer, give };
}

export function job(id: string, status: JobStatus = "running", name = `name of ${id}`): Job {
  return { id, name, status, createdAt: "2026-03-07T12:34:56.000Z" };
}

export interface Page {
  page: VueWrapper;
  router: Router;
}

/** Mounts a component at an address, like the page. */
export async function visit(component: Component, address = "/"): Promise<Page> {
  const pinia = createPinia();
  setActivePinia(pinia);
  const router = createPageRouter(createMemoryHistory());
  await router.push(address);
  const page = mount(component, {
    global: { plugins: [pinia, router] },
    attachTo: document.body,
  });
  await settle();
  return { page, router };
}

/** Waits until responses have arrived and the page has been repainted. */
export async function settle(): Promise<void> {
  // A response's body takes several turns through its streams.
  for (let turn = 0; turn < 5; turn++) {
    await flushPromises();
    if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(20);
    else await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
