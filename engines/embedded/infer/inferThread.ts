import { Worker } from "node:worker_threads";
import { type Listener, createWarmModels } from "../../warmModels.ts";
import { type Answer, fromFailure, startThread, threadEnded, toFailure } from "../messages.ts";

/** Loads models, by their directories, on one thread. */
export function createInferThread() {
  return createWarmModels<string>(start);
}

function start({ onAnswer, onEnd }: Listener) {
  const worker = startThread(
    () => new Worker(new URL("./inferWorker.js", import.meta.url), { execArgv: [] }),
  );
  worker.on("message", (answer: Answer) =>
    onAnswer(answer.id, answer.ok ? answer.result : fromFailure(answer.failure)),
  );
  worker.on("error", (error) => onEnd(fromFailure(toFailure(error))));
  worker.on("exit", (code) => onEnd(threadEnded(code)));
  return {
    send: (question: object) => worker.postMessage(question),
    ref: (isOn: boolean) => (isOn ? worker.ref() : worker.unref()),
    stop: () => void worker.terminate(),
  };
}
