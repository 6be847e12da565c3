import { parentPort, workerData } from "node:worker_threads";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { trainedBaseType } from "../../checkpoint/trainerState.ts";
import { train } from "../../training/train.ts";
import { type TrainJob, type TrainMessage, toFailure } from "../messages.ts";
import { type Team, embeddedBackend } from "./backend.ts";

/** Runs or checks the job in `workerData` and reports to its parent. */
const { config, directory, source, resumeFrom, isCheck, helpers } = workerData as TrainJob;
const send = (message: TrainMessage) => parentPort?.postMessage(message);
const team: Team = {
  onNote: (text) => send({ type: "note", text }),
  threads: helpers.length + 1,
  initWorkers: (init) => helpers.forEach((port) => port.postMessage(init)),
};

try {
  send({ type: "done", check: await (isCheck ? check() : run()) });
} catch (error) {
  send({ type: "failed", failure: toFailure(error, "training") });
}

async function check(): Promise<TrainingCheck> {
  const { checkTraining } = await import("./checkTraining.ts");
  return checkTraining({ config, source, ...team, measuring: { ...team, directory } });
}

async function run(): Promise<undefined> {
  await train(withResumedType(config), directory, {
    source,
    resumeFrom,
    onNote: team.onNote,
    onEvent: (event) => send({ type: "event", event }),
    planBackend: embeddedBackend(team),
  });
}

/** The config with the base type of the run that it resumes, which Kit may have chosen. */
function withResumedType({ lora, ...rest }: TrainConfig): TrainConfig {
  const baseType = lora?.baseType ?? (resumeFrom && trainedBaseType(resumeFrom));
  return { ...rest, lora: lora && { ...lora, ...(baseType && { baseType }) } };
}
