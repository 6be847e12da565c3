import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { type TrainMessage, toFailure } from "../../embedded/messages.ts";
import { checkTraining } from "../../training/checkTraining.ts";
import { train } from "../../training/train.ts";
import type { Device } from "../device/device.ts";
import { webgpuBackend } from "./backend.ts";
import type { GpuJob } from "./messages.ts";

const send = (message: TrainMessage) => process.send?.(message);

/** Trains or checks, and reports to the parent process. */
export async function runJob(job: GpuJob, openDevice: () => Promise<Device>): Promise<void> {
  try {
    send({ type: "done", check: await run(job, await openDevice()) });
  } catch (error) {
    send({ type: "failed", failure: toFailure(error, "training") });
  }
}

async function run(job: GpuJob, device: Device): Promise<TrainingCheck | undefined> {
  const { config, directory, source, resumeFrom, check } = job;
  const onNote = (text: string) => void send({ type: "note", text });
  const planBackend = webgpuBackend(device, onNote);
  if (check) {
    const measured = check.measures ? { directory } : {};
    return checkTraining({ config, source, planBackend, onNote, ...measured });
  }
  await train(config, directory, {
    source,
    resumeFrom,
    planBackend,
    onNote,
    onEvent: (event) => void send({ type: "event", event }),
  });
  return undefined;
}
