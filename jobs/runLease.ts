import { dirname, join } from "node:path";
import { isFolder, writeFileAtomically } from "../disk/file.ts";
import { readRecord } from "../disk/json.ts";
import { type LeaseRecord, holdLease } from "../disk/lease.ts";
import type { Owner } from "../disk/owner.ts";
import { type RunEnd, RUN_OUTPUT, isRunEnd } from "../protocol/http.ts";
import { isRecord } from "../protocol/isRecord.ts";
import { isJobId } from "./id.ts";
import { leasePath } from "./paths.ts";

/** Environment variable that passes a run its id and server. */
const RUN_VARIABLE = "KIT_RUN";
const UUID = /^[0-9a-f-]{36}$/;
const TIME = /^[\d:.TZ-]{24}$/;

/** The last run that a `kit ui` of the project launched: `.kit/run/lease.json`, held by its process. */
export interface RunLease extends LeaseRecord, RunFields {}

export interface RunFields {
  id: string;
  /** ISO 8601, UTC. */
  startedAt?: string;
  /** The `kit ui` that launched it. */
  server: Owner;
  /** How the run ended. Missing if it was killed. */
  status?: RunEnd;
  /** The run's detached job; the process that follows it continues the run. */
  job?: string;
}

export function runDirectory(project: string): string {
  return dirname(join(project, RUN_OUTPUT));
}

/** Undefined without a run, and for a damaged record. */
export function readRun(project: string): RunLease | undefined {
  const directory = runDirectory(project);
  const record = isFolder(directory) ? readRecord(leasePath(directory)) : undefined;
  const { id, owner, server, status, job, startedAt } = record ?? {};
  // The id and the time become HTTP headers.
  if (!UUID.test(String(id)) || !isRecord(owner) || !isRecord(server)) return undefined;
  return {
    ...(record as unknown as RunLease),
    status: isRunEnd(status) ? status : undefined,
    job: isJobId(String(job)) ? String(job) : undefined,
    startedAt: TIME.test(String(startedAt)) ? String(startedAt) : undefined,
  };
}

/** Records a launched run, unless its process already holds the lease. */
export function recordRun(project: string, run: RunFields, owner: Owner): void {
  if (readRun(project)?.id === run.id) return;
  write(project, { ...run, owner, renewal: -1 });
}

/** Records that a run's process is gone, and its status unless one is recorded. */
export function recordEndOfRun(project: string, id: string, status?: RunEnd): void {
  const run = readRun(project);
  if (run?.id !== id || (run.isReleased && (run.status || !status))) return;
  try {
    write(project, { ...run, status: run.status ?? status, isReleased: true });
  } catch {
    // For example, a full disk: the run shows as failed once its process is gone.
  }
}

function write(project: string, lease: RunLease): void {
  writeFileAtomically(leasePath(runDirectory(project)), JSON.stringify(lease));
}

/** Our environment, plus what a run needs to hold its lease. */
export function environmentOfRun(run: RunFields): NodeJS.ProcessEnv {
  return { ...process.env, [RUN_VARIABLE]: JSON.stringify(run) };
}

/** A run's record of itself. */
export interface HeldRun {
  /** Records the run's end, or its detached job. */
  record: (status: RunEnd, job?: string) => void;
  /** Call once, when the process ends. */
  release: () => void;
}

/** For the run's own process. Undefined when no server launched it. */
export function holdRun(project: string): HeldRun | undefined {
  const text = process.env[RUN_VARIABLE];
  delete process.env[RUN_VARIABLE];
  if (!text) return undefined;
  try {
    const lease = holdLease(leasePath(runDirectory(project)), JSON.parse(text) as RunFields);
    return {
      record(status, job) {
        try {
          lease.update({ status, job });
        } catch {
          // For example, a full disk: the run shows as failed.
        }
      },
      release: lease.release,
    };
  } catch {
    // An unwritable folder. Readers then check the process itself.
    return undefined;
  }
}
