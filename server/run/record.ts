import { lutimesSync } from "node:fs";
import { join } from "node:path";
import { isFolder, readJson, statsOf, writeFileAtomically } from "../../disk/file.ts";
import { type Owner, describeOwner } from "../../disk/owner.ts";

const UUID = /^[0-9a-f-]{36}$/;
/** Tells a run which one it is. */
const RUN_VARIABLE = "KIT_RUN";

/** How often a record is renewed while its run is alive, by its file's time. */
const RENEWAL_MS = 2_000;
/** A record that is not renewed for this long claims nothing any more. */
const CLAIM_MS = 10_000;

/** The last run of a project, for servers after the one that launched it, or beside it. */
export interface RunRecord {
  /** Empty for one of an older `kit ui`. */
  id: string;
  owner: Owner;
  server: Owner;
}

export function runDirectory(project: string): string {
  return join(project, ".kit", "run");
}

/** What the last run has printed. */
export function outputPath(project: string): string {
  return join(runDirectory(project), "output.log");
}

/** What a run prints until it is recorded; `outputPath` is still the one before it. */
export function newOutputPath(project: string, id: string): string {
  return join(runDirectory(project), `output.${id}.log`);
}

function recordPath(project: string): string {
  return join(runDirectory(project), "run.json");
}

export function readRunRecord(project: string): RunRecord | undefined {
  const directory = runDirectory(project);
  if (!isFolder(directory)) return undefined;
  const record = readJson(recordPath(project)) as Partial<RunRecord> | null | undefined;
  if (!record?.owner || !record.server) return undefined;
  // It becomes a header.
  const id = UUID.test(String(record.id)) ? String(record.id) : "";
  return { id, owner: record.owner, server: record.server };
}

export function writeRunRecord(project: string, record: RunRecord): void {
  writeFileAtomically(recordPath(project), JSON.stringify(record));
}

/**
 * Shows those who cannot see a run's process, as from another container, that it is alive.
 * @returns shows that it has ended
 */
export function holdClaim(project: string, id: string): () => void {
  const timer = setInterval(() => setTime(project, id, new Date()), RENEWAL_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    setTime(project, id, new Date(0));
  };
}

function setTime(project: string, id: string, time: Date): void {
  if (readRunRecord(project)?.id !== id) return;
  try {
    lutimesSync(recordPath(project), time, time);
  } catch {
    // A disk that cannot be written, say: the claim ends, and what can see the run still does.
  }
}

/** Whether the last run claims to be alive. */
export function isClaimed(project: string): boolean {
  const stats = statsOf(recordPath(project));
  return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) < CLAIM_MS;
}

/** The environment of a run: ours, and what it needs to record itself. */
export function environmentOfRun(id: string): NodeJS.ProcessEnv {
  return { ...process.env, [RUN_VARIABLE]: JSON.stringify({ id, server: describeOwner() }) };
}

/**
 * Called by a run itself, for its server may have died before it could record what it launched.
 * @returns the run's id; undefined where no server launched it
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
    // The server has recorded it, or tells that it could not.
    return undefined;
  }
}
