import { parentPort, workerData } from "node:worker_threads";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { trainedBaseType } from "../../checkpoint/trainerState.ts";
import { train } from "../../training/train.ts";
import { type TrainJob, type TrainMessage, toFailure } from "../messages.ts";
import { embeddedBackend } from "./backend.ts";

/** Runs the training in `workerData` and reports to its parent. */
const { config, directory, source, resumeFrom, helpers } = workerData as TrainJob;
const send = (message: TrainMessage) => parentPort?.postMessage(message);
const onNote = (text: string) => send({ type: "note", text });

try {
  await train(asResumed(config), directory, {
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
  send({ type: "failed", failure: toFailure(error, "training") });
}

/** With the base's type of the training that is resumed, which may have chosen it by itself. */
function asResumed({ lora, ...rest }: TrainConfig): TrainConfig {
  const baseType = lora?.baseType ?? (resumeFrom && trainedBaseType(resumeFrom));
  return { ...rest, lora: lora && { ...lora, ...(baseType && { baseType }) } };
}
