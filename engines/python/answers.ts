import type { LoadedModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferRequest, InferResult } from "../../protocol/infer.ts";
import { type Child, startChild } from "./child.ts";
import { findFolders } from "./model.ts";
import type { PythonMessage, Question } from "./messages.ts";
import type { Python } from "./python.ts";

interface Pending {
  resolve: (result: InferResult | undefined) => void;
  reject: (error: Error) => void;
}
type Ask = Question extends infer Q ? (Q extends Question ? Omit<Q, "id"> : never) : never;

/**
 * Loads models in one process that is shared by all, started when first needed and kept warm. It keeps
 * this process alive only while a question is open, and ends some time after the last model is closed.
 */
export function createAnswers(python: Python, { idleMs = 30_000 } = {}) {
  let child: Child | undefined;
  let idle: NodeJS.Timeout | undefined;
  const pending = new Map<number, Pending>();
  const open = new Set<number>();
  let count = 0;

  function start(): Child {
    const started = startChild("answer", {
      ...{ interpreter: python.find(), env: python.env, job: { bf16: python.bf16 } },
      onMessage: receive,
    });
    const end = (error: Error) => {
      if (child !== started) return;
      child = undefined;
      open.clear();
      for (const { reject } of pending.values()) reject(error);
      pending.clear();
    };
    started.ended.then((last) => end(endedBy(last)), end);
    return started;
  }

  function receive(message: PythonMessage) {
    if (message.type !== "answer") return;
    const question = pending.get(message.id);
    forget(message.id);
    if (message.failure === undefined) question?.resolve(message.result);
    else question?.reject(new KitError(message.failure.code, message.failure.message));
  }

  function forget(id: number) {
    pending.delete(id);
    if (pending.size === 0) child?.ref(false);
  }

  async function ask(question: Ask, signal?: AbortSignal): Promise<InferResult | undefined> {
    child ??= start();
    const to = child;
    to.ref(true);
    const id = ++count;
    const { promise, ...settle } = withResolvers<InferResult | undefined>();
    const onAbort = () => {
      to.send({ type: "cancel", id } satisfies Question);
      forget(id);
      settle.reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    pending.set(id, settle);
    to.send({ ...question, id } satisfies Question);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async function load(directory: string): Promise<LoadedModel> {
    const folders = await findFolders(directory);
    clearTimeout(idle);
    const model = ++count;
    open.add(model);
    try {
      await ask({ type: "load", model, folders });
    } catch (error) {
      release(model);
      throw error;
    }

    async function infer({ signal, ...request }: InferRequest): Promise<InferResult> {
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
    idle = setTimeout(() => void child?.stop(), idleMs).unref();
  }

  return { load };
}

function endedBy(last: PythonMessage): KitError {
  if (last.type === "failed") return new KitError(last.code, last.message);
  return new KitError("WORKER_FAILED", "The Python process that answers has ended. Try again.");
}

/** As `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle));
  return { promise, resolve, reject };
}
