import { parentPort, workerData } from "node:worker_threads";
import { train } from "../../training/train.ts";
import { type TrainJob, type TrainMessage, toFailure } from "../messages.ts";
import { embeddedBackend } from "./backend.ts";

/** Runs the training in `workerData` and reports to its parent. */
const { config, directory, source, resumeFrom, helpers } = workerData as TrainJob;
const send = (message: TrainMessage) => parentPort?.postMessage(message);
const onNote = (text: string) => send({ type: "note", text });

try {
  await train(config, directory, {
    source,
    resumeFrom,
    onEvent: (event) => send({ type: "event", event }),
    onNote,
    planBackend: embeddedBackend({
      onNote,
      threads: helpers.length + 1,
      invite: (invitation) => helpers.forEach((port) => port.postMessage(invitation)),
    }),
  });
  send({ type: "done" });
} catch (error) {
  send({ type: "failed", failure: toFailure(error) });
}
