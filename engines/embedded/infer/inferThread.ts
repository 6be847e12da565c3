import { Worker } from "node:worker_threads";
import type { LoadedModel } from "../../../protocol/engine.ts";
import type { InferRequest, InferResult } from "../../../protocol/infer.ts";
import { KitError } from "../../../protocol/error.ts";
import {
  type Answer,
  type Question,
  fromFailure,
  startThread,
  threadEnded,
  toFailure,
} from "../messages.ts";

type Pending = {
  resolve: (result: InferResult | undefined) => void;
  reject: (error: Error) => void;
};
type Ask = Question extends infer Q ? (Q extends Question ? Omit<Q, "id"> : never) : never;

/**
 * Loads models on one thread that is shared by all and started when first needed. It keeps the
 * process alive only while a question is open, and ends some time after the last model is closed.
 */
export function createInferThread({ idleMs = 30_000 } = {}) {
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  const pending = new Map<number, Pending>();
  const open = new Set<number>();
  let count = 0;

  function start(): Worker {
    const started = startThread(
      () => new Worker(new URL("./inferWorker.js", import.meta.url), { execArgv: [] }),
    );
    const end = (error: Error) => {
      if (worker !== started) return;
      worker = undefined;
      open.clear();
      for (const { reject } of pending.values()) reject(error);
      pending.clear();
    };
    started.on("message", (answer: Answer) => {
      const question = pending.get(answer.id);
      forget(answer.id);
      if (answer.ok) question?.resolve(answer.result);
      else question?.reject(fromFailure(answer.failure));
    });
    started.on("error", (error) => end(fromFailure(toFailure(error))));
    started.on("exit", (code) => end(threadEnded(code)));
    return started;
  }

  function forget(id: number) {
    pending.delete(id);
    if (pending.size === 0) worker?.unref();
  }

  function ask(question: Ask, signal?: AbortSignal): Promise<InferResult | undefined> {
    worker ??= start();
    const to = worker;
    to.ref();
    const id = ++count;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        to.postMessage({ type: "cancel", id } satisfies Question);
        forget(id);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const end =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          signal?.removeEventListener("abort", onAbort);
          then(value);
        };
      pending.set(id, { resolve: end(resolve), reject: end(reject) });
      to.postMessage({ ...question, id } satisfies Question);
    });
  }

  async function load(directory: string): Promise<LoadedModel> {
    clearTimeout(idle);
    const model = ++count;
    open.add(model);
    try {
      await ask({ type: "load", model, directory });
    } catch (error) {
      release(model);
      throw error;
    }

    async function infer(asked: InferRequest): Promise<InferResult> {
      const { signal, ...request } = asked;
      signal?.throwIfAborted();
      if (!open.has(model)) {
        throw new KitError("REQUEST_INVALID", "The model was closed. Load it again to use it.");
      }
      const result = await ask({ type: "infer", model, request }, signal);
      if (!result) throw new KitError("WORKER_FAILED", "The engine returned no answer. Try again.");
      return result;
    }

    async function close(): Promise<void> {
      if (!open.has(model)) return;
      release(model);
      await ask({ type: "unload", model });
    }

    return { infer, close };
  }

  function release(model: number) {
    open.delete(model);
    if (open.size > 0) return;
    clearTimeout(idle);
    idle = setTimeout(() => void worker?.terminate(), idleMs).unref();
  }

  return { load };
}
