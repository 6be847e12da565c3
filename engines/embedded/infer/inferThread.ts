import { Worker } from "node:worker_threads";
import type { QuantizedType } from "../../../protocol/exportFormat.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import { type Listener, type Question, createWarmModels } from "../../answers/warmModels.ts";
import { type Told, fromFailure, startThread, threadEnded, toFailure } from "../messages.ts";
import { createHelperTeams } from "./helperTeams.ts";

/** What a model is loaded from. */
export interface StoredModel {
  directory: string;
  quantize?: QuantizedType;
}

/**
 * Loads models on one thread. It ends with the last of them: V8 counts no shared memory, and would keep that of closed
 * models, gigabytes of them, until it collects garbage for other reasons.
 */
export function createInferThread() {
  return createWarmModels<StoredModel>(start, { idleMs: 0 });
}

function start({ onAnswer, onPiece, onEnd }: Listener) {
  const worker = startThread(
    () => new Worker(new URL("./inferWorker.js", import.meta.url), { execArgv: [] }),
    "answers",
  );
  const helpers = createHelperTeams((error) => {
    onEnd(error);
    void worker.terminate();
  });
  worker.on("message", (told: Told) => {
    if ("pieces" in told) for (const { id, piece } of told.pieces) onPiece(id, piece);
    else if ("seats" in told) helpers.start(told.team, told.seats);
    else if ("ended" in told) void helpers.end(told.team).finally(() => told.ended.close());
    else onAnswer(told.id, told.ok ? told.result : fromFailure(told.failure));
  });
  worker.on("error", (error) => onEnd(fromFailure(toFailure(error, "answers"))));
  worker.on("exit", (code) => {
    onEnd(threadEnded(code));
    void helpers.endAll();
  });
  return {
    send: (question: Question<StoredModel>) =>
      worker.postMessage(question.type === "cancel" ? question.id : jsonOf(question)),
    ref: (isOn: boolean) => (isOn ? worker.ref() : worker.unref()),
    stop: () => void worker.terminate(),
  };
}

/** Cloned, an object would lose the order of its keys. What is infinite stays so, to be refused. */
function jsonOf(question: object): string | undefined {
  return stringifyJson(question, (value) =>
    Number.isNaN(value) ? "null" : `${value < 0 ? "-" : ""}1e999`,
  );
}
