import { parentPort, workerData } from "node:worker_threads";
import { startBackend } from "../model/backend.ts";
import { type TrainJob, type TrainMessage, toFailure } from "../messages.ts";
import { train } from "./train.ts";

/** Trains what its data says, and tells its parent. */
const { config, directory } = workerData as TrainJob;
const send = (message: TrainMessage) => parentPort?.postMessage(message);

try {
  await startBackend();
  await train(config, directory, {
    onEvent: (event) => send({ type: "event", event }),
    onNote: (text) => send({ type: "note", text }),
  });
  send({ type: "done" });
} catch (error) {
  send({ type: "failed", failure: toFailure(error) });
}
