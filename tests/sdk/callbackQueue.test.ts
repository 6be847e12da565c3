import { afterEach, describe, expect, it, vi } from "vitest";
import { callWithin, createCallbackQueue } from "../../sdk/job/callbackQueue.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("a callback", () => {
  it("that is not done within the limit is given up", async () => {
    const call = callWithin(20, "onLog", () => new Promise(() => {}));
    await expect(call).rejects.toMatchObject({
      code: "CALLBACK_STUCK",
      message: "onLog never returned. Look for a promise in it that does not settle.",
    });
  });

  it("leaves nothing behind in the process", async () => {
    const before = process.listenerCount("beforeExit");
    await callWithin(1000, "onLog", () => {});
    await expect(callWithin(1000, "onLog", () => Promise.reject(new Error("no")))).rejects.toThrow(
      "no",
    );
    const broken = () => {
      throw new Error("no");
    };
    await expect(callWithin(1000, "onLog", broken)).rejects.toThrow("no");
    expect(process.listenerCount("beforeExit")).toBe(before);
  });
});

describe("the end of a training", () => {
  const onError = () => {};
  const has = () => true;

  it("says every ten seconds which callbacks it waits for, and how many calls are left", async () => {
    vi.useFakeTimers();
    const notes: string[] = [];
    const queue = createCallbackQueue({ onError, has, onNote: (text) => notes.push(text) });
    const slow = () => new Promise((resolve) => setTimeout(resolve, 8_000));
    for (let n = 0; n < 2; n++) queue.add("onLog", slow);
    queue.add("onCheckpoint", slow);
    queue.add("onCompleted", () => undefined);
    const drained = queue.drain();
    await vi.advanceTimersByTimeAsync(24_000);
    await drained;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(notes).toEqual([
      "waiting for callbacks: 1 of onLog, 1 of onCheckpoint, 1 of onCompleted",
      "waiting for callbacks: 1 of onCheckpoint, 1 of onCompleted",
    ]);
  });

  it("names only callbacks that the trainer has, and what Kit itself does before one", async () => {
    vi.useFakeTimers();
    const notes: string[] = [];
    const queue = createCallbackQueue({
      ...{ onError, has: (name) => name === "onCompleted", onNote: (text) => notes.push(text) },
    });
    const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 12_000));
    queue.add("onEvaluated", () => {}, { note: () => "asking", run: slow });
    queue.add("onCheckpoint", () => {});
    queue.add("onCompleted", slow);
    // Never by a trainer that does not have it.
    for (let n = 0; n < 1_001; n++) queue.add("onLog", () => {});
    const drained = queue.drain();
    await vi.advanceTimersByTimeAsync(24_000);
    await drained;
    expect(notes).toEqual([
      "asking; waiting for callbacks: 1 of onCompleted",
      "waiting for callbacks: 1 of onCompleted",
    ]);
  });

  it("says no more of it once the job is cancelled", async () => {
    vi.useFakeTimers();
    const onNote = vi.fn();
    const queue = createCallbackQueue({ onError, has, onNote });
    let settle = () => {};
    queue.add("onLog", () => new Promise<void>((resolve) => (settle = resolve)));
    const drained = queue.drain();
    await vi.advanceTimersByTimeAsync(1_000);
    queue.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onNote).not.toHaveBeenCalled();
    // A callback left behind would fail when this process ends.
    settle();
    await drained;
  });
});
