import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson, writeFileAtomically } from "../jobs/file.ts";
import { followFile } from "../jobs/follow.ts";
import { type Owner, describeOwner, ownerState } from "../jobs/owner.ts";
import { KitError, messageOf } from "../protocol/error.ts";
import { signalGroup } from "./group.ts";

/** How long a run may take to end its job after it was asked to. */
const GRACE_MS = 10_000;
const EXIT_POLL_MS = 250;
const OWNER_ONLY = 0o600;

/** One `kit start` subprocess that this server, or one before it, launched. */
export interface Run {
  /** All it printed, from the first byte, and what it prints until it ends. */
  output: (signal: AbortSignal) => AsyncGenerator<Buffer>;
}

export interface Runner {
  /** @throws KitError `RUN_IN_FLIGHT`, or `CANNOT_START` saying why */
  start: () => Promise<Run>;
  /** The run in flight. */
  current: () => Promise<Run | undefined>;
  /** Starts nothing more and ends the run in flight: asks first, kills after a grace. Idempotent. */
  close: () => Promise<void>;
}

/** A process and all that it has started. */
interface RunProcess {
  pid: number;
  hasEnded: () => boolean;
  /** Whether it ends with this server. */
  isOurs: () => boolean;
}

export function createRunner(options: {
  project: string;
  kit: string[];
  graceMs?: number;
}): Runner {
  const { graceMs = GRACE_MS } = options;
  const directory = join(options.project, ".kit", "run");
  const outputPath = join(directory, "output.log");
  const recordPath = join(directory, "run.json");
  let running: RunProcess | undefined;
  let starting: Promise<RunProcess> | undefined;
  let isClosed = false;

  function inFlight(): RunProcess | undefined {
    if (running?.hasEnded()) running = undefined;
    running ??= findRunning(recordPath);
    return running;
  }

  async function settled(): Promise<RunProcess | undefined> {
    // A start that fails is told to who asked for it.
    await starting?.catch(() => undefined);
    return inFlight();
  }

  function asRun({ hasEnded }: RunProcess): Run {
    return { output: (signal) => followFile(outputPath, { signal, ended: hasEnded }) };
  }

  async function launch(): Promise<RunProcess> {
    mkdirSync(directory, { recursive: true });
    // A new file: whoever still reads the last run's output keeps the old one.
    rmSync(outputPath, { force: true });
    const output = openSync(outputPath, "ax", OWNER_ONLY);
    try {
      const child = await spawnKit(options.kit, options.project, output);
      try {
        const record: RunRecord = { owner: describeOwner(child.pid), server: describeOwner() };
        writeFileAtomically(recordPath, JSON.stringify(record), OWNER_ONLY);
      } catch (error) {
        // A later server could not find it.
        signalGroup(child.pid, "SIGKILL");
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
      if (starting || inFlight()) {
        throw new KitError("RUN_IN_FLIGHT", "A run is in flight. Wait until it has ended.");
      }
      starting = launch();
      try {
        running = await starting;
        return asRun(running);
      } catch (error) {
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
    async close() {
      isClosed = true;
      const found = await settled();
      if (found?.isOurs()) await endProcess(found, graceMs);
    },
  };
}

async function spawnKit(kit: string[], project: string, output: number): Promise<RunProcess> {
  const [program = "", ...first] = kit;
  const child: ChildProcess = spawn(program, [...first, "start"], {
    cwd: project,
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
  return { pid: child.pid ?? 0, hasEnded: () => hasEnded, isOurs: () => true };
}

interface RunRecord {
  owner: Owner;
  server: Owner;
}

/** The run that a server before this one, or beside it, launched, if it still goes on. */
function findRunning(recordPath: string): RunProcess | undefined {
  const record = readJson(recordPath) as RunRecord | undefined;
  if (!record?.owner || !record.server || ownerState(record.owner) !== "alive") return undefined;
  const { owner, server } = record;
  return {
    pid: owner.pid,
    hasEnded: () => ownerState(owner) !== "alive",
    isOurs: () => ownerState(server) === "gone",
  };
}

async function endProcess({ pid, hasEnded }: RunProcess, graceMs: number): Promise<void> {
  signalGroup(pid, "SIGTERM");
  const deadline = performance.now() + graceMs;
  while (!hasEnded() && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, EXIT_POLL_MS));
  }
  // Also what the run has left behind in its group.
  signalGroup(pid, "SIGKILL");
}
