import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  type Owner,
  describeOwner,
  pidNotReused,
  ownerState,
  processExists,
} from "../../disk/owner.ts";
import { hasGroups, isTreeGone, signalTree } from "../../disk/processTree.ts";
import type { OwnerObservation } from "../../jobs/ownerWatch.ts";
import { type RunFields, environmentOfRun, readRun, recordEndOfRun } from "../../jobs/runLease.ts";
import { withColour } from "./colour.ts";

/** How long the system may take to end a killed process. */
const KILL_MS = 1_000;
const EXIT_POLL_MS = 50;

/** A `kit start` subprocess and its descendants. */
export interface RunProcess {
  id: string;
  owner: Owner;
  hasEnded: () => boolean;
  /** Whether this server ends it when it closes. */
  isOurs: () => boolean;
  /** Whether its pid was not reused, so that signalling its group is safe. */
  pidNotReused: () => boolean;
}

/** @param output the open file for stdout and stderr */
export async function spawnRun(
  kit: string[],
  project: string,
  run: RunFields,
  output: number,
): Promise<RunProcess> {
  const [program = "", ...first] = kit;
  const { id } = run;
  const child: ChildProcess = spawn(program, [...first, "start"], {
    cwd: project,
    env: withColour(environmentOfRun(run)),
    // One file keeps the order, and never blocks the run as an unread pipe would.
    stdio: ["ignore", output, output],
    // It outlives this server.
    detached: true,
    windowsHide: true,
  });
  let hasEnded = false;
  child.once("exit", () => {
    hasEnded = true;
    // For servers that can't see the process, as in another container.
    recordEndOfRun(project, id);
  });
  await once(child, "spawn");
  child.unref();
  const owner = describeOwner(child.pid);
  return {
    id,
    owner,
    hasEnded: () => hasEnded,
    isOurs: () => true,
    // The pid stays reserved until Node reaps the process.
    pidNotReused: () => !hasEnded || !processExists(owner.pid),
  };
}

/** The last run, according to its lease. */
export function recordedRun(
  project: string,
  observe: () => OwnerObservation,
): RunProcess | undefined {
  const record = readRun(project);
  if (!record) return undefined;
  const { id, owner, server } = record;
  const isLast = () => readRun(project)?.id === id;
  return {
    id,
    owner,
    hasEnded: () => !isLast() || observe().lease !== "held",
    isOurs: () => ownerState(server) === "gone" && ownerState(owner) === "alive",
    pidNotReused: () => pidNotReused(owner),
  };
}

interface EndRunOptions {
  graceMs: number;
  /** Aborts the grace period. */
  force: AbortSignal;
  /** Asks a run to end where no signal does. Returns whether it might. */
  requestEnd: (owner: Owner) => boolean;
  onGone: () => void;
}

/**
 * Sends SIGTERM, or on Windows, which has no signals, calls `requestEnd`; then SIGKILL after the grace period.
 * @param onGone called once the run is gone, before the rest of its group
 */
export async function endRun(
  { owner, hasEnded, pidNotReused: isItsPid }: RunProcess,
  { graceMs, force, requestEnd, onGone }: EndRunOptions,
): Promise<void> {
  const signal = (name: "SIGTERM" | "SIGKILL") => isItsPid() && signalTree(owner, name);
  if (hasGroups()) signal("SIGTERM");
  const mayEnd = hasGroups() || requestEnd(owner);
  await waitUntil(() => hasEnded() || force.aborted, mayEnd ? graceMs : 0);
  // Also ends processes that the run left behind in its group.
  const isKilled = signal("SIGKILL");
  await waitUntil(hasEnded, KILL_MS);
  // Now, because the job looks crashed until its log has an end.
  if (isKilled || hasEnded()) onGone();
  await waitUntil(() => isTreeGone(owner.pid), KILL_MS);
}

async function waitUntil(isTrue: () => boolean, limitMs: number): Promise<void> {
  // Counts polls, not time: a sleep ends no grace period.
  for (let polls = limitMs / EXIT_POLL_MS; polls > 0 && !isTrue(); polls--) {
    await new Promise((resolve) => setTimeout(resolve, EXIT_POLL_MS));
  }
}
