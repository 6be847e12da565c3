import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { InferRequest } from "../../protocol/infer.ts";
import { createCheckpoints } from "../../sdk/job/checkpoints.ts";

const ANSWER = { text: "yes", finishReason: "stop", promptTokens: 1, tokens: 1 } as const;

/** The signals that Node keeps for as long as this one, collected or not. */
function followersOf(signal: AbortSignal): number {
  const key = Object.getOwnPropertySymbols(signal).find(
    ({ description }) => description === "kDependantSignals",
  );
  const followers = key && (signal as unknown as Record<symbol, Set<unknown> | undefined>)[key];
  return (followers?.size ?? 0) + getEventListeners(signal, "abort").length;
}

/** The `infer` of a checkpoint that is answered so. */
function inferWith(answer: (request: InferRequest) => Promise<typeof ANSWER>, signal: AbortSignal) {
  const engine = {
    name: "scripted",
    load: () => Promise.resolve({ infer: answer, close: () => Promise.resolve() }),
  };
  return createCheckpoints(engine, "/job", { signal }).open({ path: "artifacts/step-1" }).infer;
}

test("requests leave nothing on the job's signal, nor on their own", async () => {
  const job = new AbortController();
  const mine = new AbortController();
  const infer = inferWith(() => Promise.resolve(ANSWER), job.signal);
  for (let n = 0; n < 100; n++) {
    await infer({ prompt: "x" });
    await infer({ prompt: "x", signal: mine.signal });
  }
  expect([followersOf(job.signal), followersOf(mine.signal)]).toEqual([0, 0]);
});

test("a request ends with the first of both signals, with its reason", async () => {
  const aborted = ({ signal }: InferRequest) =>
    new Promise<never>((_, reject) => {
      const abort = () => reject(signal?.reason as Error);
      if (signal?.aborted) abort();
      signal?.addEventListener("abort", abort);
    });
  const job = new AbortController();
  const mine = new AbortController();
  const infer = inferWith(aborted, job.signal);
  const request = { prompt: "x", signal: mine.signal };
  const own = infer(request);
  const others = Array.from({ length: 20 }, () => infer({ prompt: "x" }));
  mine.abort(new Error("mine"));
  await expect(own).rejects.toThrow("mine");
  await expect(infer(request)).rejects.toThrow("mine");
  job.abort(new Error("the job's"));
  for (const other of others) await expect(other).rejects.toThrow("the job's");
});
