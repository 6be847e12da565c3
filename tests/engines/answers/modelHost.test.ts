import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  type HostCallbacks,
  type HostRequest,
  createHostedModels,
} from "../../../engines/answers/modelHost.ts";

// tests/engines/contract.ts asks a real thread and a real process.

const IDLE_MS = 30_000;
const ANSWER = { text: "1", finishReason: "stop", promptTokens: 1, tokens: 1 } as const;

interface Started {
  callbacks: HostCallbacks;
  requests: HostRequest<string>[];
  isStopped: boolean;
}

let started: Started[];

beforeEach(() => {
  started = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Each answerer answers at once, and ends only when the test says so. */
function createModels(options?: { idleMs: number }) {
  return createHostedModels<string>((callbacks) => {
    const one: Started = { callbacks, requests: [], isStopped: false };
    started.push(one);
    return {
      send(message) {
        one.requests.push(message);
        const answer = message.type === "infer" ? ANSWER : undefined;
        if (!one.isStopped) queueMicrotask(() => callbacks.onReply(message.id, answer));
      },
      setRef: () => {},
      stop: () => void (one.isStopped = true),
    };
  }, options);
}

test("models share an answerer, which ends some time after the last is closed", async () => {
  const models = createModels();
  const [a, b] = [await models.load("a"), await models.load("b")];
  expect(await b.infer({ prompt: "x" })).toEqual(ANSWER);
  await a.close();
  await vi.advanceTimersByTimeAsync(2 * IDLE_MS);
  expect(started.map(({ isStopped }) => isStopped)).toEqual([false]);
  await b.close();
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  expect(started.map(({ isStopped }) => isStopped)).toEqual([true]);
});

test("without idle time, the answerer ends once the last model is unloaded", async () => {
  const models = createModels({ idleMs: 0 });
  const [a, b] = [await models.load("a"), await models.load("b")];
  await a.close();
  expect(started.map(({ isStopped }) => isStopped)).toEqual([false]);
  const closing = [b.close(), b.close()];
  await expect(b.infer({ prompt: "x" })).rejects.toThrow("The model was closed.");
  await Promise.all(closing);
  const unloads = started[0]?.requests.filter(({ type }) => type === "unload");
  expect([unloads?.length, started[0]?.isStopped]).toEqual([2, true]);
  expect(await (await models.load("c")).infer({ prompt: "x" })).toEqual(ANSWER);
});

test("a model that is loaded while an idle answerer ends gets another", async () => {
  const models = createModels();
  await (await models.load("a")).close();
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  const model = await models.load("b");
  started[0]?.callbacks.onEnd(new Error("ended"));
  expect(await model.infer({ prompt: "x" })).toEqual(ANSWER);
  expect(started).toHaveLength(2);
});

test("when an answerer ends, open requests reject, and the next model starts another", async () => {
  const models = createModels();
  const model = await models.load("a");
  started[0]!.isStopped = true;
  const asked = model.infer({ prompt: "x" });
  started[0]?.callbacks.onEnd(new Error("killed"));
  await expect(asked).rejects.toThrow("killed");
  await expect(model.infer({ prompt: "x" })).rejects.toMatchObject({ code: "WORKER_FAILED" });
  await model.close();
  await expect(model.infer({ prompt: "x" })).rejects.toThrow("The model was closed.");
  expect(await (await models.load("b")).infer({ prompt: "x" })).toEqual(ANSWER);
});
