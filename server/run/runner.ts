import { isRegularFile } from "../../disk/file.ts";
import type { Owner } from "../../disk/owner.ts";
import { watchOwner } from "../../jobs/ownerWatch.ts";
import { type RunLease, readRun, recordEndOfRun, runDirectory } from "../../jobs/runLease.ts";
import { KitError, isKitError, unwritableMessage } from "../../protocol/error.ts";
import type { RunEnd } from "../../protocol/http.ts";
import { inFlightError, launchRun } from "./launch.ts";
import { openOutput, outputPath } from "./output.ts";
import { type RunProcess, endRun, recordedRun } from "./process.ts";

/** Grace period after SIGTERM, so that all of a run is gone within 10 s. */
const GRACE_MS = 7_000;

/** A `kit start` subprocess that this or an earlier server launched. */
export interface Run {
  /** Unique in the project. */
  id: string;
  /**
   * Output from a byte on, until the run ends; undefined when a later run has replaced it. Holds the
   * file open, so read it to its end or abort `signal`.
   */
  output: (signal: AbortSignal, from?: number) => Promise<AsyncGenerator<Buffer> | undefined>;
  status: () => "running" | RunEnd;
  /** ISO 8601, UTC; undefined for a run of an earlier Kit. */
  startedAt: () => string | undefined;
  owner: Owner;
}

export interface Runner {
  /** @throws KitError `RUN_IN_FLIGHT`, `CLOSED`, `CANNOT_START` saying why */
  start: () => Promise<Run>;
  /** The current run, or the last one if its output still exists. Waits for one being launched. */
  last: () => Promise<Run | undefined>;
  /** Like `last`, without waiting. */
  peekLast: () => Run | undefined;
  /** The last run's job, if it was detached. The process that follows it continues the run. */
  detachedJob: () => string | undefined;
  /**
   * Refuses further starts and ends the current run, by force if necessary. Idempotent.
   * @returns whether there was a run to end
   */
  close: () => Promise<boolean>;
  /** Makes `close` use force at once. */
  force: () => void;
}

export interface RunnerOptions {
  /** Absolute path of the project. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  graceMs?: number;
  /** Asks a run to end where no signal does. Returns whether it might. */
  requestEnd?: (owner: Owner) => boolean;
  /** Called when `close` begins to end a run. */
  onEnding?: () => void;
  /** Called once `close` has ended a run. */
  onGone?: (owner: Owner) => void;
  /** Whether this server follows a run's detached job. */
  isFollowed?: (job: string) => boolean;
  /** How a detached job ended, if it has. */
  endOfJob?: (job: string) => RunEnd | undefined;
}

/** Launches the project's runs, one at a time, and finds one that another server launched. */
export function createRunner(options: RunnerOptions): Runner {
  const { project, kit, graceMs = GRACE_MS, onEnding, onGone } = options;
  const { isFollowed = () => false, endOfJob = () => undefined } = options;
  const { requestEnd = () => false } = options;
  let running: RunProcess | undefined;
  let starting: Promise<RunProcess> | undefined;
  let isClosed = false;
  const force = new AbortController();
  const owner = watchOwner(runDirectory(project));

  function runInFlight(): RunProcess | undefined {
    if (running?.hasEnded()) running = undefined;
    const last = running ?? recordedRun(project, owner);
    if (!last?.hasEnded()) running = last;
    return running ?? (last && isContinued(last.id) ? last : undefined);
  }

  /** Whether this server continues an ended run by following its job. */
  function isContinued(id: string): boolean {
    const { job } = recordOf(id);
    return job !== undefined && isFollowed(job);
  }

  function endOf(id: string): RunEnd {
    const { status = "failed", job } = recordOf(id);
    return (job !== undefined && endOfJob(job)) || status;
  }

  function recordOf(id: string): Pick<RunLease, "status" | "job" | "startedAt"> {
    const last = readRun(project);
    return last?.id === id ? last : {};
  }

  async function settledRun(): Promise<RunProcess | undefined> {
    // The caller of `start` gets its error.
    await starting?.catch(() => undefined);
    return runInFlight();
  }

  function asRun({ id, owner, hasEnded }: RunProcess): Run {
    const hasRunEnded = () => hasEnded() && !isContinued(id);
    const output: Run["output"] = (signal, from) =>
      openOutput(project, id, { signal, from, ended: hasRunEnded });
    const status = () => (hasRunEnded() ? endOf(id) : "running");
    return { id, owner, output, status, startedAt: () => recordOf(id).startedAt };
  }

  function peekLast(): Run | undefined {
    const current = runInFlight();
    if (current) return asRun(current);
    const last = recordedRun(project, owner);
    return last && isRegularFile(outputPath(project)) ? asRun(last) : undefined;
  }

  return {
    async start() {
      if (isClosed)
        throw new KitError("CLOSED", "kit ui is shutting down. Start it again to train.");
      if (starting || runInFlight()) throw inFlightError();
      starting = launchRun({ project, kit, isInFlight: () => runInFlight() !== undefined });
      try {
        running = await starting;
        return asRun(running);
      } catch (error) {
        if (isKitError(error)) throw error;
        const message = unwritableMessage(`start a run in ${runDirectory(project)}`, error);
        throw new KitError("CANNOT_START", message, { cause: error });
      } finally {
        starting = undefined;
      }
    },
    async last() {
      await settledRun();
      return peekLast();
    },
    peekLast,
    detachedJob() {
      const last = recordedRun(project, owner);
      return last?.hasEnded() ? recordOf(last.id).job : undefined;
    },
    async close() {
      isClosed = true;
      const runProcess = await settledRun();
      if (!runProcess?.isOurs()) return false;
      const { id, owner } = runProcess;
      onEnding?.();
      await endRun(runProcess, {
        graceMs,
        force: force.signal,
        requestEnd,
        onGone() {
          // A killed run could not record its end itself.
          recordEndOfRun(project, id, "cancelled");
          onGone?.(owner);
        },
      });
      return true;
    },
    force: () => force.abort(),
  };
}
