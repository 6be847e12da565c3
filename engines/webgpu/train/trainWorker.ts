import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { type TrainMessage, toFailure } from "../../embedded/messages.ts";
import { checkTraining } from "../../training/checkTraining.ts";
import { train } from "../../training/train.ts";
import { openDevice } from "../device/dawn.ts";
import { webgpuBackend } from "./backend.ts";
import type { GpuJob } from "./messages.ts";

const send = (message: TrainMessage) => process.send?.(message);

/** Runs or checks the job that its parent sends, and reports to it. */
process.once("message", (job: GpuJob) => {
  void run(job).then(
    (check) => send({ type: "done", check }),
    (error: unknown) => send({ type: "failed", failure: toFailure(error, "training") }),
  );
});
process.once("disconnect", () => process.exit());
// The terminal's signals reach the whole process group; the parent decides.
for (const signal of ["SIGINT", "SIGHUP", "SIGBREAK"]) process.on(signal, () => {});

async function run(job: GpuJob): Promise<TrainingCheck | undefined> {
  const { options, project, config, directory, source, resumeFrom, check } = job;
  const onNote = (text: string) => void send({ type: "note", text });
  const device = await openDevice(options, project);
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
