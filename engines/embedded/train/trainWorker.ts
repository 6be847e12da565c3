import { parentPort, workerData } from "node:worker_threads";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
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
  const { checkTraining } = await import("../../training/checkTraining.ts");
  const { onNote } = team;
  return checkTraining({ config, source, planBackend: embeddedBackend(team), directory, onNote });
}

async function run(): Promise<undefined> {
  await train(config, directory, {
    source,
    resumeFrom,
    onNote: team.onNote,
    onEvent: (event) => send({ type: "event", event }),
    planBackend: embeddedBackend(team),
  });
}
