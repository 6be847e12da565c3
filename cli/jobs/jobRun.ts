import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { readEvaluations } from "../../jobs/metricEvents.ts";
import { reportToUi } from "../../jobs/remote/followerMessage.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import { type JobEvent, FINAL_STATUS, isFinalEvent } from "../../protocol/event.ts";
import type { RunEnd } from "../../protocol/http.ts";
import { printable, printableNote } from "../../protocol/printable.ts";
import { sourceLocation } from "../../sdk/projectCode.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { onTerminationSignal } from "../process/signals.ts";
import { showPath } from "../project/bundle.ts";
import { onUncaught } from "../project/describeError.ts";
import { kitCommand, adaptCommands } from "../project/kitCommand.ts";
import { reportError } from "../terminal/errors.ts";
import { printJsonError } from "../terminal/json.ts";
import { print, printError, printFailure } from "../terminal/print.ts";
import type { Style } from "../terminal/style.ts";
import { createEventLines } from "./eventLines.ts";

/** A job that this process drives and shows on the terminal. */
export interface JobRun {
  /** Cancels or detaches from the job on a signal. */
  handleSignals: () => void;
  /** Resolves with the exit code when the job has ended or was detached. */
  exitCode: () => Promise<number>;
}

/** Records how a run ended, or its job as soon as other machines have it. */
export type RecordEnd = (status: RunEnd, job?: string) => void;

export interface JobRunOptions {
  trainer: DrivenTrainer;
  /** Absolute path. */
  project: string;
  recordEnd?: RecordEnd;
  /** Detaches as soon as the job runs remotely. */
  detach?: boolean;
  /** Called once everything before the first step is printed. */
  onTraining?: () => void;
}

/** Prints the events of a trainer's job. Call it before the job starts. */
export function createJobRun({
  trainer,
  project,
  recordEnd,
  detach,
  onTraining,
}: JobRunOptions): JobRun {
  /** The ended job's status, once its last event is printed. */
  let status: RunEnd | undefined;
  let lines: ReturnType<typeof createEventLines> | undefined;
  let id = "";
  /** Age of the replayed event; 0 when live. */
  let ageMs = 0;
  const now = () => performance.now() - ageMs;
  const kit = (words: string) => kitCommand(project, words);

  function end(endStatus: RunEnd): void {
    status = endStatus;
    // In case the project's code ends the process by itself.
    process.exitCode = EXIT_CODE[endStatus];
  }

  function show(event: JobEvent, text: string): void {
    if (event.event === "training.failed") printFailure(text);
    else if (text !== "") print(text, styleOf(event));
    if (isFinalEvent(event)) reportToUi({ kind: "ended", text });
  }

  trainer[DRIVER].observe({
    onCreated({ job, config, directory, fail }) {
      ({ id } = job);
      const isLocal = (path: string) => !isRemoteArtifact(join(directory, path));
      const earlierMetrics = (upTo: number) => readEvaluations(dirname(directory), id, upTo);
      const shown = { project, directory: showPath(project, directory) };
      lines = createEventLines({ config, ...shown, isLocal, earlierMetrics, kit, now });
      print(`job ${id} ${printable(job.name)}`);
      // An exception outside the callbacks fails the job, not only the process.
      onUncaught(fail);
    },
    onWait: (before) => print(`waiting for job ${before.id} ${printable(before.name)}`),
    onRemote() {
      recordEnd?.("detached", id);
      if (detach) trainer[DRIVER].detach();
    },
    onAttached({ where }, events) {
      for (const event of events) {
        ageMs = Date.now() - event.at || 0;
        lines?.text(event);
      }
      ageMs = 0;
      const step = events.findLast(({ event }) => event !== "training.started")?.data;
      const after = step && "step" in step ? ` after step ${step.step}` : "";
      const text = `attached to the job on ${printable(where)}${after}`;
      print(text);
      reportToUi({ kind: "attached", text });
    },
    onNote(note) {
      const text = printableNote(note);
      print(text);
      if (text.startsWith("warning: ")) reportToUi({ kind: "warning", text });
    },
    onEvent(event) {
      if (isFinalEvent(event)) {
        end(FINAL_STATUS[event.event]);
        recordEnd?.(FINAL_STATUS[event.event]);
      }
      if (lines) show(event, lines.text(event));
      if (event.event === "training.started") onTraining?.();
    },
    onDetached({ where }) {
      end("detached");
      print(
        `detached: job ${id} keeps training on ${printable(where)}; follow it with: ${kit(`attach ${id}`)}`,
      );
    },
  });

  function withOwnCommands(error: unknown): unknown {
    if (!isKitError(error)) return error;
    return new KitError(error.code, adaptCommands(project, error.message), { cause: error });
  }

  return {
    handleSignals() {
      onTerminationSignal((signal) => {
        // The job has ended; a signal now stops its last callback.
        if (status) process.exit(EXIT_CODE[status]);
        if (signal === "SIGINT") void trainer.cancel();
        else trainer[DRIVER].detach();
      });
    },
    async exitCode() {
      try {
        await trainer.wait();
      } catch (error) {
        if (status !== "failed") return reportError(withOwnCommands(error));
        printJsonError(error);
        const location = error instanceof Error && sourceLocation(error);
        if (location) printFailure(`  at ${location}`);
        if (process.env.DEBUG === "kit") printError(inspect(error));
      }
      return EXIT_CODE[status ?? "failed"];
    },
  };
}

/** Dims the many steps, and highlights the result. */
function styleOf(event: JobEvent): Style | undefined {
  if (event.event === "training.log") return "dim";
  return isFinalEvent(event) ? "bold" : undefined;
}

/**
 * Handles signals until there is a job. SIGINT needs no handler: the system ends the process with 130,
 * even while a loop in the project's code would block a handler.
 */
export function exitOnSignals(explain: (code: number) => void): { stop: () => void } {
  const exit = () => {
    process.off("exit", explain);
    process.exit(EXIT_CODE.cancelled);
  };
  return onTerminationSignal(exit, ["SIGTERM", "SIGHUP", "SIGBREAK"]);
}
