import { randomUUID } from "node:crypto";
import { closeSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, OWNER_ONLY } from "../../disk/file.ts";
import { takeLock } from "../../disk/lock.ts";
import { move, remove } from "../../disk/move.ts";
import { describeOwner } from "../../disk/owner.ts";
import { signalTree } from "../../disk/processTree.ts";
import { recordRun, runDirectory } from "../../jobs/runLease.ts";
import { KitError } from "../../protocol/error.ts";
import { newOutputPath, outputPath } from "./output.ts";
import { type RunProcess, spawnRun } from "./process.ts";

/** How long another server may take to launch a run. */
const LAUNCH_MS = 5_000;
const ORPHANED_OUTPUT = /^output\.[0-9a-f-]{36}\.log$/;

export interface LaunchOptions {
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  isInFlight: () => boolean;
}

/**
 * Launches a run. Only one server of a project launches at a time.
 * @throws KitError `RUN_IN_FLIGHT`
 */
export async function launchRun(options: LaunchOptions): Promise<RunProcess> {
  const directory = runDirectory(options.project);
  makeDirectory(directory);
  const lock = await takeLock(join(directory, "launch.lock"), LAUNCH_MS);
  if (!lock) {
    throw new KitError(
      "RUN_IN_FLIGHT",
      `Another kit ui has been starting a run for ${LAUNCH_MS / 1_000} s. Try again. If it happens again, remove ${directory}/launch.lock.`,
    );
  }
  try {
    if (options.isInFlight()) throw inFlightError();
    return await launch(options);
  } finally {
    lock.release();
  }
}

export function inFlightError(): KitError {
  return new KitError("RUN_IN_FLIGHT", "A run is in flight. Wait until it has ended.");
}

async function launch({ project, kit }: LaunchOptions): Promise<RunProcess> {
  const directory = runDirectory(project);
  for (const name of readdirSync(directory)) {
    // Left by a server that was killed during a launch.
    if (ORPHANED_OUTPUT.test(name)) remove(join(directory, name));
  }
  const id = randomUUID();
  const fields = { id, startedAt: new Date().toISOString(), server: describeOwner() };
  const path = newOutputPath(project, id);
  const output = openSync(path, "ax", OWNER_ONLY);
  try {
    const run = await spawnRun(kit, project, fields, output);
    try {
      recordRun(project, fields, run.owner);
      // After the record, so that the last run's id never gets this run's output. Readers of the
      // last run's output keep the old file open.
      move(path, outputPath(project));
    } catch (error) {
      // Without a record, no later server could find it.
      signalTree(run.owner, "SIGKILL");
      throw error;
    }
    return run;
  } catch (error) {
    remove(path);
    throw error;
  } finally {
    closeSync(output);
  }
}
