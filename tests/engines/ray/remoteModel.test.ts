import { EventEmitter, once } from "node:events";
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { createCluster } from "../../../engines/ray/cluster.ts";
import type { Remote, RemoteStatus } from "../../../engines/ray/rayJobs.ts";
import { load, loadRemoteModel } from "../../../engines/ray/remoteModel.ts";
import { writeStoredRecord } from "../../../engines/ray/storedRecord.ts";
import { KitError } from "../../../protocol/error.ts";
import type { InferRequest } from "../../../protocol/infer.ts";
import { createScratch } from "../scratch.ts";

const ADDRESS = "http://127.0.0.1:1";
const STORED = { path: "s3://runs/job/step-1", files: { "config.json": { size: 2, sha256: "0" } } };
const cluster = createCluster({ address: ADDRESS });
const scratch = createScratch();
afterAll(() => scratch.remove());

it("answers several questions at once; what is wrong with one costs only that one", async () => {
  const { remote, job } = createRemote();
  const model = await open(remote);
  const lost = new KitError("CLUSTER_UNREACHABLE", "nothing answers");
  job.refused = { prompt: "lost", error: lost };
  const asked = ["a", "broken", "lost", "b"].map((prompt) => model.infer({ prompt }));
  const [a, broken, gone, b] = await Promise.allSettled(asked);
  expect([a, b]).toMatchObject([{ value: { text: "a!" } }, { value: { text: "b!" } }]);
  expect(broken).toMatchObject({ reason: { code: "REQUEST_INVALID", message: "Shorten it." } });
  expect(gone).toMatchObject({ reason: lost });
  await model.close();
});

it("reads the log's end alone for a question, but all of it if that is not enough", async () => {
  const { remote, job } = createRemote();
  const model = await open(remote);
  const ask = async () => {
    const before = job.linesSent;
    expect(await model.infer({ prompt: "a" })).toMatchObject({ text: "a!" });
    return job.linesSent - before;
  };
  for (let i = 0; i < 100; i++) job.print({ type: "beat" });
  expect(await ask()).toBeGreaterThan(100);
  for (let i = 0; i < 100; i++) await ask();
  expect(await ask()).toBeLessThan(100);
  await model.close();
});

it("gives a question up when it is aborted, and drops its answer", async () => {
  const { remote, job } = createRemote();
  const model = await open(remote);
  const abort = new AbortController();
  const slow = model.infer({ prompt: "slow", signal: abort.signal });
  await job.took("infer");
  abort.abort(new Error("enough"));
  await expect(slow).rejects.toThrow("enough");
  const { id } = await job.took("cancel");
  job.answer(id, "too late");
  expect(await model.infer({ prompt: "next" })).toMatchObject({ text: "next!" });
  await model.close();
});

it("tells an answer's parts as they come, each of the right answer, and nothing once it has a stop", async () => {
  const { remote, job } = createRemote();
  const model = await open(remote);
  const told: string[] = [];
  const abort = new AbortController();
  const [first, stopped] = ["a", "b"].map((name) =>
    model.infer(
      { prompt: "slow", ...(name === "b" ? { stop: "END" } : { signal: abort.signal }) },
      ({ text }) => told.push(`${name}: ${text}`),
    ),
  );
  await vi.waitFor(() => expect(job.taken.filter(({ type }) => type === "infer")).toHaveLength(2));
  const [a, b] = job.taken.filter(({ type }) => type === "infer").map(({ id }) => id);
  job.tell(a!, "one ", "two ");
  job.tell(b!, "three E");
  job.tell(a!, "four");
  job.tell(b!, "ND five", "six");
  job.tell(b!, "seven");
  expect(await stopped).toEqual({
    ...{ text: "three ", finishReason: "stop", promptTokens: 2, tokens: 2 },
  });
  expect((await job.took("cancel")).id).toBe(b);
  abort.abort(new Error("enough"));
  await expect(first).rejects.toThrow("enough");
  job.tell(a!, "eight");
  expect(await model.infer({ prompt: "next" })).toMatchObject({ text: "next!" });
  expect(told).toEqual(["a: one ", "a: two ", "b: three ", "a: four"]);
  await model.close();
});

it("ends its job once it is closed and what was asked before is answered", async () => {
  const { remote, job } = createRemote();
  const model = await open(remote);
  const asked = model.infer({ prompt: "slow" });
  const { id } = await job.took("infer");
  const closed = model.close();
  expect(job.isStopped).toBe(false);
  job.answer(id, "done");
  expect(await asked).toMatchObject({ text: "done" });
  await closed;
  expect(job.isStopped).toBe(true);
  await expect(model.infer({ prompt: "a" })).rejects.toThrow(
    /^The model was closed\. Load it again/,
  );
});

it("says why a model cannot be loaded, and leaves no job", async () => {
  const { remote, job } = createRemote();
  const message = "s3://runs/job/step-1 is no longer on the cluster. Use another checkpoint.";
  job.print({ type: "failed", code: "CHECKPOINT_INVALID", message });
  await expect(open(remote)).rejects.toMatchObject({ code: "CHECKPOINT_INVALID", message });
  expect(job.isStopped).toBe(true);
});

it("leaves no job when loading is aborted", async () => {
  const { remote, job } = createRemote();
  job.isDeaf = true;
  const abort = new AbortController();
  const opening = open(remote, { signal: abort.signal });
  await job.took("load");
  abort.abort(new Error("enough"));
  await expect(opening).rejects.toThrow("enough");
  expect(job.isStopped).toBe(true);
});

it("ends its job when it is aborted later, with what is asked", async () => {
  const { remote, job } = createRemote();
  const abort = new AbortController();
  const model = await open(remote, { signal: abort.signal });
  const asked = model.infer({ prompt: "slow" });
  await job.took("infer");
  abort.abort();
  await expect(asked).rejects.toThrow(/^The model was closed\. /);
  expect(job.isStopped).toBe(true);
  await model.close();
});

it("says that someone stopped the job, or that it has given this process up", async () => {
  const endings = [
    [
      { phase: "ended", message: "Job was intentionally stopped." },
      / ended unexpectedly: Job was /,
    ],
    [{ phase: "unknown" }, / is unknown to a remote: .* Try again; /],
    [
      { phase: "running" },
      / has ended: it received no heartbeat from this process for several minutes, .*Load the/,
    ],
  ] as [RemoteStatus, RegExp][];
  for (const [status, message] of endings) {
    const { remote, job } = createRemote();
    const model = await open(remote);
    job.isDeaf = true;
    const asked = model.infer({ prompt: "a" });
    if (status.phase === "running") job.print({ type: "done" });
    job.end(status);
    await expect(asked).rejects.toMatchObject({ code: "WORKER_FAILED" });
    await expect(asked).rejects.toThrow(message);
  }
});

it("gives heartbeats as long as the model is open, and follows the log only while a question is", async () => {
  const { remote, job } = createRemote();
  const model = await open(remote, { idleSeconds: 0.05 });
  await job.took("heartbeat");
  expect(job.readers).toBe(0);
  await model.close();
  const beats = job.taken.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(job.taken).toHaveLength(beats);
});

it("answers there only if the files or Python are missing here, and says why", async () => {
  const nothing = new KitError("PYTHON_NOT_FOUND", "There is no Python. Install it.");
  const damaged = new KitError("CHECKPOINT_INVALID", "Damaged. Use another.");
  const kept = scratch.directory();
  writeFileSync(join(kept, "config.json"), "{}");
  writeStoredRecord(kept, { address: ADDRESS, ...STORED });
  const away = `${scratch.directory()}-away`;
  writeStoredRecord(away, { address: ADDRESS, ...STORED });
  const there = /^No usable response from http/;
  const cases = [
    [
      away,
      undefined,
      there,
      `inference runs on the Ray cluster at ${ADDRESS}: the files of ${basename(away)} exist only there`,
    ],
    [kept, nothing, there, `inference runs on the Ray cluster at ${ADDRESS}: ${nothing.message}`],
    [kept, damaged, /^Damaged/, undefined],
    [scratch.directory(), nothing, /^There is no Python/, undefined],
  ] as const;
  for (const [directory, error, message, note] of cases) {
    const notes: string[] = [];
    const loadHere = () => Promise.reject(error ?? new Error("not here"));
    const options = { onNote: (text: string) => notes.push(text) };
    await expect(load(cluster, { directory, loadHere, options })).rejects.toThrow(message);
    expect(notes).toEqual(note === undefined ? [] : [note]);
  }
});

type Opening = Partial<Parameters<typeof loadRemoteModel>[1]>;

const open = (remote: Remote, more: Opening = {}) =>
  loadRemoteModel(remote, { cluster, stored: STORED, base: undefined, ...more });

interface Message {
  type: string;
  id: number;
  request?: InferRequest;
}

/** A remote with one job, which answers as kit_ray/answer.py; `slow` waits for the test. */
function createRemote() {
  const news = new EventEmitter();
  const lines: object[] = [];
  let secret = "";
  let status: RemoteStatus = { phase: "running" };
  const job = {
    taken: [] as Message[],
    readers: 0,
    linesSent: 0,
    isStopped: false,
    /** Whether it answers nothing. */
    isDeaf: false,
    refused: undefined as { prompt: string; error: Error } | undefined,
    print(message: object) {
      lines.push({ kit: 1, seq: lines.length + 1, ...message });
      news.emit("line");
    },
    /** Tells a token for each text. */
    tell: (id: number, ...texts: string[]) =>
      job.print({ type: "tokens", id, promptTokens: 2, tokens: texts.map((text) => ({ text })) }),
    answer(id: number, text: string) {
      job.tell(id, text);
      job.print({ type: "answer", id, result: { promptTokens: 2, finishReason: "stop" } });
    },
    /** The first message of a kind. */
    async took(type: string): Promise<Message> {
      for (;;) {
        const found = job.taken.find((message) => message.type === type);
        if (found) return found;
        await once(news, "message");
      }
    },
    end(last: RemoteStatus) {
      status = last;
      news.emit("line");
    },
  };
  function take(message: Message) {
    const { type, id, request } = message;
    const prompt = request?.prompt ?? "";
    if (job.refused && prompt === job.refused.prompt) throw job.refused.error;
    job.taken.push(message);
    news.emit("message");
    if (job.isDeaf || prompt === "slow" || type === "cancel" || type === "heartbeat") return;
    const failure = { code: "REQUEST_INVALID", message: "Shorten it." };
    if (prompt === "broken") job.print({ type: "answer", id, failure });
    else if (type === "infer") job.answer(id, `${prompt}!`);
    else job.print({ type: "answer", id });
  }
  const remote: Partial<Remote> = {
    name: "a remote",
    submit(submission) {
      ({ secret } = submission);
      return Promise.resolve();
    },
    status: () => Promise.resolve(status),
    async *log(_, { isEnded, lines: last = lines.length }, signal) {
      job.readers++;
      try {
        for (let next = Math.max(0, lines.length - last); ; next++) {
          while (next >= lines.length) {
            if (isEnded || status.phase !== "running") return;
            await once(news, "line", { signal });
          }
          job.linesSent++;
          yield Buffer.from(`${JSON.stringify({ ...lines[next], secret })}\n`);
        }
      } finally {
        job.readers--;
      }
    },
    send: (_, __, bytes) =>
      new Promise((resolve) => resolve(take(JSON.parse(bytes.toString()) as Message))),
    stop() {
      job.isStopped = true;
      job.end({ phase: "ended" });
      return Promise.resolve();
    },
  };
  return { remote: remote as Remote, job };
}
