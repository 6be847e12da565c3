import { holdRun } from "../../jobs/runLease.ts";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { KitError } from "../../protocol/error.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createCommand, projectOption } from "../command.ts";
import { type RecordEnd, exitOnSignals, createJobRun } from "../jobs/jobRun.ts";
import { createJsonEvents } from "../jobs/jsonEvents.ts";
import { plannedOption, plannedTrainer } from "../jobs/plannedTrainer.ts";
import { EXIT_CODE, lastExitCode } from "../process/exitCode.ts";
import { ensureBundle } from "../project/bundle.ts";
import { enterProject } from "../project/folder.ts";
import { explainExit, loadEntry } from "../project/loadEntry.ts";
import { slowRuntime } from "../runtime.ts";
import { openJsonLines } from "../terminal/json.ts";
import { limitOutput, printError } from "../terminal/print.ts";

export const command = createCommand("start", {
  "kit start": "train the last build",
  "kit build && kit start": "train your latest edits",
  "kit start --resume": "continue the last failed or cancelled job",
  "kit start src/kit/long.ts": "build and train another file",
  "kit start --project ../dates | tee run.txt": "train another project and keep its output",
})
  .argument("[entry]", `build and train this file instead of ${DEFAULT_ENTRY}`)
  .option("--resume", "resume the newest failed or cancelled job")
  .option("--json", "print the events as JSON on stdout, one per line")
  .option("--detach", "return once the job runs on other machines")
  .addOption(plannedOption())
  .addOption(projectOption())
  .action(async (entry, options) => {
    const { project: folder, resume = false, detach = false, planned: plannedJob } = options;
    const jsonLines = options.json && openJsonLines();
    const name = entry ?? DEFAULT_ENTRY;
    const explain = (code: number) => explainExit(name, code);
    const earlySignals = exitOnSignals(explain);
    const project = enterProject(folder);
    const recordEnd = endRecorder(project);
    const lastNote = createLastNote();
    const load = async () =>
      loadEntry(await ensureBundle(project, entry, lastNote.set), name, explain);
    // `kit serve --fine-tuning` has already created a planned job, which only has to begin.
    const trainer = plannedJob === undefined ? await load() : plannedTrainer(project, plannedJob);
    // Only this engine trains in Node.
    const isInNode = trainer[DRIVER].prepared.engine.name === "embedded";
    const slow = isInNode && process.env.KIT_NODE_NOTE !== "0" && slowRuntime(process.versions);
    if (slow) printError(`kit: ${slow}`);
    if (detach) assertDetachable(trainer);
    if (resume) trainer[DRIVER].resume();
    if (jsonLines) trainer[DRIVER].observe(createJsonEvents(jsonLines.printValue));
    const jobRun = createJobRun({ trainer, project, recordEnd, detach, onTraining: lastNote.say });
    if (plannedJob !== undefined) await trainer[DRIVER].begin(plannedJob);
    jobRun.handleSignals();
    earlySignals.stop();
    // Exit even if the project's code has left something open.
    process.exit(lastExitCode(await jobRun.exitCode()));
  });

/** A sentence printed just before training, or before the process exits without training. */
function createLastNote() {
  let sentence: string | undefined;
  function flush(): void {
    if (sentence !== undefined) printError(`kit: ${sentence}`);
    sentence = undefined;
  }
  process.once("exit", flush);
  return { set: (text: string) => void (sentence = text), say: flush };
}

/** @throws KitError `CANNOT_DETACH` */
function assertDetachable(trainer: DrivenTrainer): void {
  const { engine } = trainer[DRIVER].prepared;
  if (engine.remote) return;
  throw new KitError(
    "CANNOT_DETACH",
    `--detach needs an engine that trains on other machines, such as ray, but ${engine.name} trains on this machine. Start it without --detach.`,
  );
}

/** If the page started this run, records its end: the job's status, or one from the exit code. */
function endRecorder(project: string): RecordEnd {
  const heldRun = holdRun(project);
  if (heldRun === undefined) return () => undefined;
  limitOutput();
  let isRecorded = false;
  const record: RecordEnd = (status, job) => {
    isRecorded = true;
    heldRun.record(status, job);
  };
  process.on("exit", (code) => {
    if (!isRecorded) record(code === EXIT_CODE.cancelled ? "cancelled" : "failed");
    heldRun.release();
  });
  return record;
}
