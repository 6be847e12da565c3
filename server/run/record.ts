import { lutimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { isFolder, stampOf, statsOf, writeFileAtomically } from "../../disk/file.ts";
import { readRecord } from "../../disk/json.ts";
import { type Owner, describeOwner } from "../../disk/owner.ts";
import { RENEWAL_MS, createStillness } from "../../disk/stillness.ts";
import { RUN_OUTPUT } from "../../protocol/http.ts";

const UUID = /^[0-9a-f-]{36}$/;
/** Passes a run its id and server. */
const RUN_VARIABLE = "KIT_RUN";

/** A record that was not renewed for this long no longer claims that its run is alive. */
const CLAIM_MS = 10_000;
/** The modification time of a record whose run has ended. */
const ENDED = new Date(0);

/** The last run of a project, for servers other than the one that launched it. */
export interface RunRecord {
  /** Empty for a run of an older `kit ui`. */
  id: string;
  owner: Owner;
  server: Owner;
}

/** The last run's output. */
export function outputPath(project: string): string {
  return join(project, RUN_OUTPUT);
}

export function runDirectory(project: string): string {
  return dirname(outputPath(project));
}

/** A run's output until the run is recorded. */
export function newOutputPath(project: string, id: string): string {
  return join(runDirectory(project), `output.${id}.log`);
}

function recordPath(project: string): string {
  return join(runDirectory(project), "run.json");
}

export function readRunRecord(project: string): RunRecord | undefined {
  const directory = runDirectory(project);
  if (!isFolder(directory)) return undefined;
  const record = readRecord(recordPath(project)) as Partial<RunRecord> | undefined;
  if (!record?.owner || !record.server) return undefined;
  // The id becomes a header.
  const id = UUID.test(String(record.id)) ? String(record.id) : "";
  return { id, owner: record.owner, server: record.server };
}

export function writeRunRecord(project: string, record: RunRecord): void {
  writeFileAtomically(recordPath(project), JSON.stringify(record));
}

/**
 * Shows servers that cannot see a run's process, as in another container, that it is alive.
 * @returns a function that shows them that it has ended
 */
export function holdClaim(project: string, id: string): () => void {
  const timer = setInterval(() => setTime(project, id, new Date()), RENEWAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    setTime(project, id, ENDED);
  };
}

function setTime(project: string, id: string, time: Date): void {
  if (readRunRecord(project)?.id !== id) return;
  try {
    lutimesSync(recordPath(project), time, time);
  } catch {
    // A read-only disk, say: the claim expires. Servers that can see the process need none.
  }
}

/** @returns whether the last run claims to be alive */
export function watchClaim(project: string): () => boolean {
  const stillMsOf = createStillness();
  return () => {
    const stats = statsOf(recordPath(project));
    if (!stats || stats.mtimeMs === ENDED.getTime()) return false;
    return stillMsOf(stampOf(stats)) < CLAIM_MS;
  };
}

/** Our environment, and what a run needs to record itself. */
export function environmentOfRun(id: string): NodeJS.ProcessEnv {
  return { ...process.env, [RUN_VARIABLE]: JSON.stringify({ id, server: describeOwner() }) };
}

/**
 * Called by the run itself: its server may have died before it could record the launch.
 * @returns the run's id; undefined when no server launched it
 */
export function recordOwnRun(project: string): string | undefined {
  const text = process.env[RUN_VARIABLE];
  delete process.env[RUN_VARIABLE];
  if (!text) return undefined;
  try {
    const { id, server } = JSON.parse(text) as Pick<RunRecord, "id" | "server">;
    process.once("exit", holdClaim(project, id));
    writeRunRecord(project, { id, server, owner: describeOwner() });
    return id;
  } catch {
    // The server records the run too, or reports that it could not.
    return undefined;
  }
}
