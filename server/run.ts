import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../jobs/file.ts";
import { followFile } from "../jobs/follow.ts";
import { type Owner, describeOwner, ownerState } from "../jobs/owner.ts";
import { KitError, isKitError, messageOf } from "../protocol/error.ts";
import { isGroupGone, signalGroup } from "./group.ts";
import { takeLock } from "./lock.ts";
import { environmentOfRun, readRunRecord, runDirectory, writeRunRecord } from "./runRecord.ts";

/** How long a run may take to end its job after it was asked to; so all of it is gone within 10 s. */
const GRACE_MS = 7_000;
/** How long the system may take to end a killed process. */
const KILL_MS = 1_000;
/** How long another server may take to launch a run. */
const LAUNCH_MS = 5_000;
const EXIT_POLL_MS = 50;
const OWNER_ONLY = 0o600;

/** One `kit start` subprocess that this server, or one before it, launched. */
export interface Run {
  /** Told apart from every other run of the project; empty for one of an older `kit ui`. */
  id: string;
  /** All it printed, from this byte on, and what it prints until it ends. */
  output: (signal: AbortSignal, from?: number) => AsyncGenerator<Buffer>;
}

export interface Runner {
  /** @throws KitError `RUN_IN_FLIGHT`, or `CANNOT_START` saying why */
  start: () => Promise<Run>;
  /** The run in flight. */
  current: () => Promise<Run | undefined>;
  /** The run with this id, also when it has ended, as long as it is the last. */
  last: (id: string) => Promise<Run | undefined>;
  /**
   * Starts nothing more and ends the run in flight: asks first, kills after a grace. Idempotent.
   * @returns whether there was a run to end
   */
  close: () => Promise<boolean>;
}

/** A process and all that it has started. */
interface RunProcess {
  id: string;
  owner: Owner;
  hasEnded: () => boolean;
  /** Whether it ends with this server. */
  isOurs: () => boolean;
}

export function createRunner(options: {
  project: string;
  kit: string[];
  graceMs?: number;
  watching?: boolean;
  /** Called once the run that was ended is gone. */
  onGone?: (owner: Owner) => void;
  /** Whether a process that cannot be seen from here, as in another container, is at work on a job. */
  isAtWork?: (owner: Owner) => boolean;
}): Runner {
  const { graceMs = GRACE_MS, watching, onGone, isAtWork = () => false } = options;
  const directory = runDirectory(options.project);
  const outputPath = join(directory, "output.log");
  let running: RunProcess | undefined;
  let starting: Promise<RunProcess> | undefined;
  let isClosed = false;

  function inFlight(): RunProcess | undefined {
    if (running?.hasEnded()) running = undefined;
    const last = running ?? lastRun(options.project, isAtWork);
    if (!last?.hasEnded()) running = last;
    return running;
  }

  async function settled(): Promise<RunProcess | undefined> {
    // A start that fails is told to who asked for it.
    await starting?.catch(() => undefined);
    return inFlight();
  }

  function asRun({ id, hasEnded }: RunProcess): Run {
    const output: Run["output"] = (signal, from) =>
      followFile(outputPath, { signal, from, watching, ended: hasEnded });
    return { id, output };
  }

  /** Two servers of one project may be asked at the same moment: one of them launches. */
  async function launchAlone(): Promise<RunProcess> {
    makeDirectory(directory);
    const release = await takeLock(join(directory, "launch.lock"), LAUNCH_MS);
    if (!release) {
      throw new KitError(
        "RUN_IN_FLIGHT",
        `Another kit ui has been starting a run for ${LAUNCH_MS / 1_000} s. Try again; if this stays, remove ${directory}/launch.lock.`,
      );
    }
    try {
      if (inFlight()) throw inFlightError();
      return await launch();
    } finally {
      release();
    }
  }

  async function launch(): Promise<RunProcess> {
    // A new file: whoever still reads the last run's output keeps the old one.
    rmSync(outputPath, { force: true });
    const output = openSync(outputPath, "ax", OWNER_ONLY);
    try {
      const child = await spawnKit(options.kit, options.project, output);
      try {
        const { id, owner } = child;
        writeRunRecord(options.project, { id, owner, server: describeOwner() });
      } catch (error) {
        // A later server could not find it.
        signalGroup(child.owner.pid, "SIGKILL");
        throw error;
      }
      return child;
    } finally {
      closeSync(output);
    }
  }

  return {
    async start() {
      if (isClosed) throw new KitError("CLOSED", "kit ui is ending. Start it again to train.");
      if (starting || inFlight()) throw inFlightError();
      starting = launchAlone();
      try {
        running = await starting;
        return asRun(running);
      } catch (error) {
        if (isKitError(error)) throw error;
        throw new KitError(
          "CANNOT_START",
          `Cannot start a run in ${directory}: ${messageOf(error)}. Make the folder writable, or free disk space.`,
          { cause: error },
        );
      } finally {
        starting = undefined;
      }
    },
    async current() {
      const found = await settled();
      return found && asRun(found);
    },
    async last(id) {
      await settled();
      const found = running ?? lastRun(options.project, isAtWork);
      return id !== "" && found?.id === id ? asRun(found) : undefined;
    },
    async close() {
      isClosed = true;
      const found = await settled();
      if (!found?.isOurs()) return false;
      await endProcess(found, graceMs, () => onGone?.(found.owner));
      return true;
    },
  };
}

function inFlightError(): KitError {
  return new KitError("RUN_IN_FLIGHT", "A run is in flight. Wait until it has ended.");
}

async function spawnKit(kit: string[], project: string, output: number): Promise<RunProcess> {
  const [program = "", ...first] = kit;
  const id = randomUUID();
  const child: ChildProcess = spawn(program, [...first, "start"], {
    cwd: project,
    env: environmentOfRun(id),
    // Both to one file, in the order they are written; nobody has to read it for the run to go on.
    stdio: ["ignore", output, output],
    // A group of its own, which outlives this server and can be ended as a whole.
    detached: true,
  });
  let hasEnded = false;
  child.once("exit", () => {
    hasEnded = true;
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  child.unref();
  return {
    id,
    owner: describeOwner(child.pid),
    hasEnded: () => hasEnded,
    isOurs: () => true,
  };
}

/** The last run, as its server or itself recorded it. */
function lastRun(project: string, isAtWork: (owner: Owner) => boolean): RunProcess | undefined {
  const record = readRunRecord(project);
  if (!record) return undefined;
  const { id, owner, server } = record;
  return {
    id,
    owner,
    hasEnded() {
      const state = ownerState(owner);
      return state === "gone" || (state === "unknown" && !isAtWork(owner));
    },
    isOurs: () => ownerState(server) === "gone",
  };
}

async function endProcess(
  { owner, hasEnded }: RunProcess,
  graceMs: number,
  onGone: () => void,
): Promise<void> {
  signalGroup(owner.pid, "SIGTERM");
  await waitUntil(hasEnded, graceMs);
  // Also what the run has left behind in its group.
  signalGroup(owner.pid, "SIGKILL");
  await waitUntil(hasEnded, KILL_MS);
  // At once: until its job says how it ended, it looks like one that has crashed.
  onGone();
  await waitUntil(() => isGroupGone(owner.pid), KILL_MS);
}

async function waitUntil(isTrue: () => boolean, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!isTrue() && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, EXIT_POLL_MS));
  }
}
