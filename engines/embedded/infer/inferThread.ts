import { Worker } from "node:worker_threads";
import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import {
  type HostCallbacks,
  type HostRequest,
  createHostedModels,
} from "../../answers/modelHost.ts";
import {
  type InferMessage,
  fromFailure,
  startThread,
  threadEnded,
  toFailure,
} from "../messages.ts";
import { createHelperTeams } from "./helperTeams.ts";

/** A model on disk. */
export interface StoredModel {
  directory: string;
  quantize?: QuantizedType;
}

/**
 * Loads models on one thread, which ends when the last of them is closed: V8 doesn't count shared memory, and would
 * otherwise keep gigabytes of closed models until it collects garbage for other reasons.
 */
export function createInferThread() {
  return createHostedModels<StoredModel>(start, { idleMs: 0 });
}

function start({ onReply, onDelta, onEnd }: HostCallbacks) {
  const worker = startThread(
    () => new Worker(new URL("./inferWorker.js", import.meta.url), { execArgv: [] }),
    "answers",
  );
  const helpers = createHelperTeams((error) => {
    onEnd(error);
    void worker.terminate();
  });
  worker.on("message", (message: InferMessage) => {
    if ("deltas" in message) for (const { id, delta } of message.deltas) onDelta(id, delta);
    else if ("ports" in message) helpers.start(message.team, message.ports);
    else if ("ended" in message)
      void helpers.end(message.team).finally(() => message.ended.close());
    else onReply(message.id, message.ok ? message.result : fromFailure(message.failure));
  });
  worker.on("error", (error) => onEnd(fromFailure(toFailure(error, "answers"))));
  worker.on("exit", (code) => {
    onEnd(threadEnded(code));
    void helpers.endAll();
  });
  return {
    send: (message: HostRequest<StoredModel>) =>
      worker.postMessage(message.type === "cancel" ? message.id : toJson(message)),
    setRef: (on: boolean) => (on ? worker.ref() : worker.unref()),
    stop: () => void worker.terminate(),
  };
}

/** Writes JSON, because structured cloning reorders keys. Infinity stays infinite, so that validation rejects it. */
function toJson(message: object): string | undefined {
  return stringifyJson(message, (value) =>
    Number.isNaN(value) ? "null" : `${value < 0 ? "-" : ""}1e999`,
  );
}
