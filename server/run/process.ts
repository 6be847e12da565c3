import { type ChildProcess, spawn } from "node:child_process";
import {
  type Owner,
  describeOwner,
  keepsPid,
  ownerState,
  processExists,
} from "../../disk/owner.ts";
import { isGroupGone, signalGroup } from "../processGroup.ts";
import { inColour } from "./colour.ts";
import { environmentOfRun, holdClaim, isClaimed, readRunRecord } from "./record.ts";

/** How long the system may take to end a killed process. */
const KILL_MS = 1_000;
const EXIT_POLL_MS = 50;

/** A `kit start` subprocess and all that it has started. */
export interface RunProcess {
  id: string;
  owner: Owner;
  hasEnded: () => boolean;
  /** Whether it ends with this server. */
  isOurs: () => boolean;
  /** Whether its pid is still no stranger's, so that a signal to its group reaches it alone. */
  keepsPid: () => boolean;
}

/** @param output the open file to which all it prints goes */
export async function spawnRun(
  kit: string[],
  project: string,
  id: string,
  output: number,
): Promise<RunProcess> {
  const [program = "", ...first] = kit;
  const child: ChildProcess = spawn(program, [...first, "start"], {
    cwd: project,
    env: inColour(environmentOfRun(id)),
    // Both to one file, in the order they are written; nobody has to read it for the run to go on.
    stdio: ["ignore", output, output],
    // A group of its own, which outlives this server and can be ended as a whole.
    detached: true,
  });
  let hasEnded = false;
  const endClaim = holdClaim(project, id);
  child.once("exit", () => {
    hasEnded = true;
    endClaim();
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => {
      endClaim();
      reject(error);
    });
  });
  child.unref();
  const owner = describeOwner(child.pid);
  return {
    id,
    owner,
    hasEnded: () => hasEnded,
    isOurs: () => true,
    // Until its end is heard of, the system keeps it for us.
    keepsPid: () => !hasEnded || !processExists(owner.pid),
  };
}

/**
 * The last run, as its server or itself recorded it.
 * @param isAtWork whether a process that cannot be seen from here, as in another container, works
 */
export function recordedRun(
  project: string,
  isAtWork: (owner: Owner) => boolean,
): RunProcess | undefined {
  const record = readRunRecord(project);
  if (!record) return undefined;
  const { id, owner, server } = record;
  return {
    id,
    owner,
    hasEnded() {
      const state = ownerState(owner);
      const claims = () => isClaimed(project) || isAtWork(owner);
      return state === "gone" || (state === "unknown" && !claims());
    },
    isOurs: () => ownerState(server) === "gone" && ownerState(owner) === "alive",
    keepsPid: () => keepsPid(owner),
  };
}

/**
 * Asks a run to end, and kills it and what it has left behind after the grace.
 * @param onGone called once it is gone, before the rest of its group is
 */
export async function endRun(
  { owner, hasEnded, keepsPid: isItsPid }: RunProcess,
  graceMs: number,
  onGone: () => void,
): Promise<void> {
  if (isItsPid()) signalGroup(owner.pid, "SIGTERM");
  await waitUntil(hasEnded, graceMs);
  // Also what the run has left behind in its group.
  if (isItsPid()) signalGroup(owner.pid, "SIGKILL");
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
