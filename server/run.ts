import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson, writeFileAtomically } from "../jobs/file.ts";
import { followFile } from "../jobs/follow.ts";
import { type Owner, describeOwner, ownerState } from "../jobs/owner.ts";
import { KitError, messageOf } from "../protocol/error.ts";

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
  current: () => Run | undefined;
  /** Ends the run in flight: asks first, kills after {@link GRACE_MS}. Idempotent. */
  close: () => Promise<void>;
}

/** A process and all that it has started. */
interface RunProcess {
  pid: number;
  hasEnded: () => boolean;
}

export function createRunner(options: { project: string; kit: string[] }): Runner {
  const directory = join(options.project, ".kit", "run");
  const outputPath = join(directory, "output.log");
  const recordPath = join(directory, "run.json");
  let running: RunProcess | undefined = findRunning(recordPath);

  function inFlight(): RunProcess | undefined {
    if (running?.hasEnded()) running = undefined;
    return running;
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
      const record: RunRecord = { owner: describeOwner(child.pid) };
      writeFileAtomically(recordPath, JSON.stringify(record), OWNER_ONLY);
      return child;
    } finally {
      closeSync(output);
    }
  }

  return {
    async start() {
      if (inFlight()) {
        throw new KitError("RUN_IN_FLIGHT", "A run is in flight. Wait until it has ended.");
      }
      // Held from now on, so that a second call meanwhile does not start a second one.
      running = { pid: 0, hasEnded: () => false };
      try {
        running = await launch();
      } catch (error) {
        running = undefined;
        throw new KitError(
          "CANNOT_START",
          `Cannot start a run in ${directory}: ${messageOf(error)}. Make the folder writable, or free disk space.`,
          { cause: error },
        );
      }
      return asRun(running);
    },
    current() {
      const found = inFlight();
      return found && asRun(found);
    },
    async close() {
      const found = inFlight();
      if (found) await endProcess(found);
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
  return { pid: child.pid ?? 0, hasEnded: () => hasEnded };
}

interface RunRecord {
  owner: Owner;
}

/** The run that a server before this one launched, if it still goes on. */
function findRunning(recordPath: string): RunProcess | undefined {
  const record = readJson(recordPath) as RunRecord | undefined;
  if (!record?.owner || ownerState(record.owner) !== "alive") return undefined;
  const { owner } = record;
  return { pid: owner.pid, hasEnded: () => ownerState(owner) !== "alive" };
}

async function endProcess({ pid, hasEnded }: RunProcess): Promise<void> {
  signalGroup(pid, "SIGTERM");
  const deadline = performance.now() + GRACE_MS;
  while (!hasEnded() && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, EXIT_POLL_MS));
  }
  // Also what the run has left behind in its group.
  signalGroup(pid, "SIGKILL");
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}
