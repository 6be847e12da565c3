import { join } from "node:path";
import { isFolder, readJson, writeFileAtomically } from "../../disk/file.ts";
import { type Owner, describeOwner } from "../../disk/owner.ts";

const OWNER_ONLY = 0o600;
const UUID = /^[0-9a-f-]{36}$/;
/** Tells a run which one it is. */
const RUN_VARIABLE = "KIT_RUN";

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

export function readRunRecord(project: string): RunRecord | undefined {
  const directory = runDirectory(project);
  if (!isFolder(directory)) return undefined;
  const record = readJson(join(directory, "run.json")) as Partial<RunRecord> | null | undefined;
  if (!record?.owner || !record.server) return undefined;
  // It becomes a header.
  const id = UUID.test(String(record.id)) ? String(record.id) : "";
  return { id, owner: record.owner, server: record.server };
}

export function writeRunRecord(project: string, record: RunRecord): void {
  writeFileAtomically(join(runDirectory(project), "run.json"), JSON.stringify(record), OWNER_ONLY);
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
    writeRunRecord(project, { id, server, owner: describeOwner() });
    return id;
  } catch {
    // The server has recorded it, or tells that it could not.
    return undefined;
  }
}
