import type { EngineModel } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import type { InferDelta, InferRequest, InferResult } from "../../protocol/infer.ts";

/** A message to a model host, which replies to each but `cancel` under its `id`. */
export type HostRequest<Source> =
  | { type: "load"; id: number; model: number; source: Source }
  | InferHostRequest
  | { type: "cancel"; id: number }
  | { type: "unload"; id: number; model: number };

interface InferHostRequest {
  type: "infer";
  id: number;
  model: number;
  request: InferRequest;
  isStreamed: boolean;
}

/** A thread or process that hosts models. */
export interface ModelHost<Source> {
  send: (message: HostRequest<Source>) => void;
  /** Sets whether it keeps this process alive. */
  setRef: (isRef: boolean) => void;
  /** Stops it; `onEnd` follows. */
  stop: () => void;
}

/** Callbacks of a model host. */
export interface HostCallbacks {
  onReply: (id: number, reply: InferResult | undefined | Error) => void;
  onDelta: (id: number, delta: InferDelta) => void;
  /** Rejects open requests. Idempotent. */
  onEnd: (error: Error) => void;
}

interface Pending {
  resolve: (result: InferResult | undefined) => void;
  reject: (error: Error) => void;
  onDelta: ((delta: InferDelta) => void) | undefined;
}

interface RunningHost<Source> {
  host: ModelHost<Source>;
  /** Open requests by id. */
  pending: Map<number, Pending>;
}

/** A request without its id. */
type RequestBody<Source, Q = HostRequest<Source>> = Q extends unknown ? Omit<Q, "id"> : never;

/**
 * Hosts models in one shared thread or process, started on demand. It keeps this process alive only
 * while a request is open, and stops `idleMs` after the last model is closed.
 * @param Source identifies a model to load
 */
export function createHostedModels<Source>(
  start: (callbacks: HostCallbacks) => ModelHost<Source>,
  { idleMs = 30_000 } = {},
) {
  let running: RunningHost<Source> | undefined;
  let idle: NodeJS.Timeout | undefined;
  const loadedModels = new Set<number>();
  let lastId = 0;

  function startHost(): RunningHost<Source> {
    const pending = new Map<number, Pending>();
    const host = start({
      onReply(id, reply) {
        const open = pending.get(id);
        forget(started, id);
        if (reply instanceof Error) open?.reject(reply);
        else open?.resolve(reply);
      },
      onDelta: (id, delta) => pending.get(id)?.onDelta?.(delta),
      onEnd(error) {
        if (running === started) {
          running = undefined;
          loadedModels.clear();
        }
        for (const { reject } of pending.values()) reject(error);
        pending.clear();
      },
    });
    const started = { host, pending };
    return started;
  }

  function forget({ host, pending }: RunningHost<Source>, id: number) {
    pending.delete(id);
    if (pending.size === 0) host.setRef(false);
  }

  function send(
    message: RequestBody<Source>,
    { signal, onDelta }: { signal?: AbortSignal | undefined; onDelta?: Pending["onDelta"] } = {},
  ): Promise<InferResult | undefined> {
    running ??= startHost();
    const target = running;
    target.host.setRef(true);
    const id = ++lastId;
    return new Promise<InferResult | undefined>((resolve, reject) => {
      const onAbort = () => {
        target.host.send({ type: "cancel", id });
        forget(target, id);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const stopListening = () => signal?.removeEventListener("abort", onAbort);
      target.pending.set(id, {
        resolve: (result) => (stopListening(), resolve(result)),
        reject: (error) => (stopListening(), reject(error)),
        onDelta,
      });
      try {
        target.host.send({ ...message, id });
      } catch (cause) {
        target.pending.get(id)?.reject(unserializable(cause));
        forget(target, id);
      }
    });
  }

  async function load(source: Source): Promise<EngineModel> {
    clearTimeout(idle);
    const model = ++lastId;
    loadedModels.add(model);
    try {
      await send({ type: "load", model, source });
    } catch (error) {
      release(model);
      throw error;
    }

    let closing: Promise<void> | undefined;

    async function infer(
      { signal, ...request }: InferRequest,
      onDelta?: Pending["onDelta"],
    ): Promise<InferResult> {
      signal?.throwIfAborted();
      if (closing) throw modelClosed();
      if (!loadedModels.has(model)) throw engineEnded();
      const isStreamed = onDelta !== undefined;
      const result = await send({ type: "infer", model, request, isStreamed }, { signal, onDelta });
      if (!result) throw new KitError("WORKER_FAILED", "The engine returned no answer. Try again.");
      return result;
    }

    async function check(request: InferRequest): Promise<void> {
      await infer({ ...request, maxTokens: 0 });
    }

    async function unload(): Promise<void> {
      if (loadedModels.has(model))
        await send({ type: "unload", model }).finally(() => release(model));
    }

    return { infer, check, close: () => (closing ??= unload()) };
  }

  function release(model: number) {
    loadedModels.delete(model);
    if (loadedModels.size > 0) return;
    clearTimeout(idle);
    if (idleMs === 0) return end();
    idle = setTimeout(end, idleMs).unref();
  }

  function end() {
    // A model loaded in the meantime starts another host.
    const ending = running;
    running = undefined;
    ending?.host.stop();
  }

  return { load };
}

function engineEnded(): KitError {
  return new KitError("WORKER_FAILED", "The engine's process exited. Load the model again.");
}

/** Serialization is recursive, so deep nesting overflows the stack. */
function unserializable(cause: unknown): KitError {
  return new KitError(
    "REQUEST_INVALID",
    "infer cannot read this request: it is nested too deeply, or contains itself. Write it as flat JSON.",
    { cause },
  );
}

export function modelClosed(): KitError {
  return new KitError("REQUEST_INVALID", "The model was closed. Load it again to use it.");
}
