import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { FINAL_STATUS, isFinalEvent } from "../../protocol/event.ts";
import type { RunEnd } from "../../protocol/http.ts";
import { sourcePlace } from "../../sdk/thrown.ts";
import { type ObservableTrainer, type Trainer, OBSERVE, RESUME } from "../../sdk/trainer.ts";
import { writeRunEnd } from "../../server/run/end.ts";
import { recordOwnRun } from "../../server/run/record.ts";
import { ensureBundle, showPath } from "../bundle.ts";
import { reportError } from "../errors.ts";
import { createEventLines } from "../eventLines.ts";
import { EXIT_CODE } from "../exitCode.ts";
import { onEndingSignal } from "../hangup.ts";
import { explainExit, loadEntry } from "../loadEntry.ts";
import { enterProject } from "../project.ts";
import { onUncaught } from "../thrown.ts";

export async function start(
  entry: string | undefined,
  options: { project: string; resume?: boolean },
): Promise<void> {
  const name = entry ?? DEFAULT_ENTRY;
  const explain = (code: number) => explainExit(name, code);
  const early = exitOnSignals(explain);
  const project = enterProject(options.project);
  const recordEnd = endRecorder(project);
  const bundle = await ensureBundle(project, entry, (stale) => console.error(`kit: ${stale}`));
  const trainer = await loadEntry(bundle, name, explain);
  if (options.resume) trainer[RESUME]();
  const end = printEvents(trainer, project, recordEnd);
  onEndingSignal(() => {
    // The job has ended and its last callback still runs: a signal now stops that, too.
    if (end.status) process.exit(EXIT_CODE[end.status]);
    void trainer.cancel();
  });
  early.stop();
  // Exit even if the project's code has left something open.
  process.exit(await exitCodeOf(trainer, end));
}

/** Records how this run ended, if the page started it: by its job, or else by its exit code. */
function endRecorder(project: string): (status: RunEnd) => void {
  const run = recordOwnRun(project);
  if (run === undefined) return () => undefined;
  let isRecorded = false;
  const record = (status: RunEnd) => {
    isRecorded = true;
    writeRunEnd(project, run, status);
  };
  process.on("exit", (code) => {
    if (!isRecorded) record(code === EXIT_CODE.cancelled ? "cancelled" : "failed");
  });
  return record;
}

/**
 * Applies until there is a job to cancel. SIGINT needs no handler: the system ends the process with
 * 130, even while a loop in the project's code would keep a handler from running.
 */
function exitOnSignals(explain: (code: number) => void): { stop: () => void } {
  const exit = () => {
    process.off("exit", explain);
    process.exit(EXIT_CODE.cancelled);
  };
  return onEndingSignal(exit, ["SIGTERM", "SIGHUP"]);
}

interface End {
  /** The ended job's status, once its last event is printed. */
  status?: RunEnd;
}

function printEvents(
  trainer: ObservableTrainer,
  project: string,
  recordEnd: (status: RunEnd) => void,
): End {
  const end: End = {};
  let eventLines: ReturnType<typeof createEventLines> | undefined;
  trainer[OBSERVE]({
    onCreated({ job, config, directory, fail }) {
      eventLines = createEventLines({ config, project, directory: showPath(project, directory) });
      console.log(`job ${job.id} ${job.name}`);
      // An exception outside of the callbacks fails the job, not only the process.
      onUncaught(fail);
    },
    onWait: ({ id, name }) => console.log(`waiting for job ${id} ${name}`),
    onNote: (text) => console.log(text),
    onEvent(event) {
      if (isFinalEvent(event)) {
        end.status = FINAL_STATUS[event.event];
        recordEnd(end.status);
        // For project code that ends the process by itself.
        process.exitCode = EXIT_CODE[end.status];
      }
      const print = event.event === "training.failed" ? console.error : console.log;
      if (eventLines) print(eventLines.text(event));
    },
  });
  return end;
}

async function exitCodeOf(trainer: Trainer, end: End): Promise<number> {
  try {
    await trainer.wait();
  } catch (error) {
    if (end.status !== "failed") return reportError(error);
    const place = error instanceof Error && sourcePlace(error);
    if (place) console.error(`  at ${place}`);
    if (process.env.DEBUG === "kit") console.error(error);
  }
  return EXIT_CODE[end.status ?? "failed"];
}
