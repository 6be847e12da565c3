import { KitError } from "../../protocol/error.ts";
import { type FinalEvent, FINAL_STATUS, isFinalEvent } from "../../protocol/event.ts";
import { describeEarlyExit } from "../../protocol/earlyExit.ts";
import { NO_TRAINER } from "../../protocol/manifest.ts";
import { sourcePlace } from "../../sdk/thrown.ts";
import { type ObservableTrainer, type Trainer, OBSERVE } from "../../sdk/trainer.ts";
import type { RunEnd } from "../../protocol/http.ts";
import { writeRunEnd } from "../../server/run/end.ts";
import { recordOwnRun } from "../../server/run/record.ts";
import { DEFAULT_ENTRY, ensureBundle, showPath } from "../bundle.ts";
import { reportError } from "../errors.ts";
import { endingSignals } from "../hangup.ts";
import { loadTrainer } from "../load.ts";
import { createProgress } from "../progress.ts";
import { enterProject } from "../project.ts";
import { describeThrown, onUncaught } from "../thrown.ts";

const EXIT_FAILED = 1;
const EXIT_CODES = {
  "training.completed": 0,
  "training.failed": EXIT_FAILED,
  "training.cancelled": 130,
} as const satisfies Record<FinalEvent["event"], number>;

export async function start(
  entry: string | undefined,
  options: { project: string },
): Promise<void> {
  const name = entry ?? DEFAULT_ENTRY;
  const explain = (code: number) => explainExit(name, code);
  const early = exitOnSignals(explain);
  const project = enterProject(options.project);
  const recordEnd = endRecorder(project);
  const bundle = await ensureBundle(project, entry, (stale) => console.error(`kit: ${stale}`));
  const trainer = await loadOrExplain(bundle, name, explain);
  if (!trainer) throw new KitError("NO_TRAINER", withEntry(name, NO_TRAINER));
  const end = printEvents(trainer, project, recordEnd);
  for (const signal of endingSignals()) {
    process.on(signal, () => {
      // Only a last callback is waited for, and not by who asks again.
      if (end.event) process.exit(EXIT_CODES[end.event]);
      void trainer.cancel();
    });
  }
  early.stop();
  // Whatever the project's code leaves open does not keep a finished job's process alive.
  process.exit(await exitCodeOf(trainer, end));
}

/** Tells the page how this run ended, if it is one of the page's: by its job, or else by its exit. */
function endRecorder(project: string): (status: RunEnd) => void {
  const run = recordOwnRun(project);
  if (run === undefined) return () => undefined;
  let isRecorded = false;
  const record = (status: RunEnd) => {
    isRecorded = true;
    writeRunEnd(project, run, status);
  };
  process.on("exit", (code) => {
    if (!isRecorded) record(code === EXIT_CODES["training.cancelled"] ? "cancelled" : "failed");
  });
  return record;
}

/**
 * Until there is a job to cancel. Not SIGINT: by itself it ends the process with 130, also one
 * whose only thread is in a loop of the project's code, where no handler would be called.
 */
function exitOnSignals(explain: (code: number) => void): { stop: () => void } {
  const exit = () => {
    process.off("exit", explain);
    process.exit(EXIT_CODES["training.cancelled"]);
  };
  const signals = endingSignals().filter((signal) => signal !== "SIGINT");
  for (const signal of signals) process.on(signal, exit);
  return { stop: () => signals.forEach((signal) => process.off(signal, exit)) };
}

/** Loading runs the project's code, which may end this process before it is done. */
async function loadOrExplain(
  bundle: string,
  entry: string,
  explain: (code: number) => void,
): Promise<Trainer | null> {
  const uncaught = onUncaught((thrown) => {
    process.off("exit", explain);
    process.exit(reportError(new Error(describeThrown(thrown), { cause: thrown })));
  });
  process.once("exit", explain);
  try {
    return await loadTrainer(bundle, entry);
  } finally {
    process.off("exit", explain);
    uncaught.stop();
  }
}

function explainExit(entry: string, code: number): void {
  // Node sets the code of an unsettled await aside from the one it passes.
  const why = describeEarlyExit(Number(process.exitCode ?? code));
  console.error(`kit: ${withEntry(entry, why)}`);
  process.exitCode = EXIT_FAILED;
}

/** A sentence about the project's usual entry, told of the one that is trained. */
function withEntry(entry: string, sentence: string): string {
  return sentence.replace(DEFAULT_ENTRY, () => entry);
}

interface End {
  /** The event that ended the job, once it is printed. */
  event?: FinalEvent["event"];
}

function printEvents(trainer: Trainer, project: string, recordEnd: (status: RunEnd) => void): End {
  const end: End = {};
  let progress: ReturnType<typeof createProgress> | undefined;
  (trainer as ObservableTrainer)[OBSERVE]({
    onCreated({ job, config, directory, fail }) {
      progress = createProgress({ config, project, directory: showPath(project, directory) });
      console.log(`job ${job.id} ${job.name}`);
      // What the project's code throws outside of its callbacks ends the job, not only the process.
      onUncaught(fail);
    },
    onWait: ({ id, name }) => console.log(`waiting for job ${id} ${name}`),
    onNote: (text) => console.log(text),
    onEvent(event) {
      if (isFinalEvent(event)) {
        end.event = event.event;
        recordEnd(FINAL_STATUS[event.event]);
        // Also where the project's code ends the process with a code of its own.
        process.exitCode = EXIT_CODES[event.event];
      }
      const print = event.event === "training.failed" ? console.error : console.log;
      if (progress) print(progress.text(event));
    },
  });
  return end;
}

async function exitCodeOf(trainer: Trainer, end: End): Promise<number> {
  try {
    await trainer.wait();
  } catch (error) {
    if (end.event !== "training.failed") return reportError(error);
    const place = error instanceof Error && sourcePlace(error);
    if (place) console.error(`  at ${place}`);
    if (process.env.DEBUG === "kit") console.error(error);
  }
  return end.event ? EXIT_CODES[end.event] : EXIT_FAILED;
}
