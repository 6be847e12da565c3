import { dirname, join } from "node:path";
import * as v from "valibot";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import type { Engine, RemoteLocation, RemoteTraining } from "../../protocol/engine.ts";
import { asEngineEvent } from "../../protocol/engineReport.ts";
import { KitError } from "../../protocol/error.ts";
import {
  type PastEvent,
  EVALUATED,
  EVALUATING,
  PREPARING,
  isFinalEvent,
} from "../../protocol/event.ts";
import { EVENT_SCHEMAS } from "../../protocol/eventSchemas.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { refuseLinkedArtifacts } from "../artifactFiles.ts";
import { readEngineName, readJobConfig } from "../jobFile.ts";
import { readLog } from "../log/read.ts";
import type { OwnedJob } from "../ownedJob.ts";
import { jobsPath } from "../paths.ts";
import { type RemoteLocationRecord, readRemoteLocation } from "../remoteLocation.ts";
import type { ResumePoint } from "../resumePoint.ts";
import { damagedJob, takeJob } from "./takeJob.ts";

/** What an earlier process recorded about a remote job. */
export interface JobHistory {
  location: RemoteLocation;
  events: readonly PastEvent[];
  /** The checkpoint that the job resumed from. */
  from: ResumePoint | undefined;
}

interface ClaimedJob {
  owned: OwnedJob;
  /** The job's original config. */
  config: JobConfig;
  remote: RemoteTraining;
}

/**
 * Takes over an unfollowed remote job of the current project.
 * @throws KitError `CANNOT_ATTACH`, `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `LINK_IN_KIT`, and those of `takeJob`
 */
export async function claimRemoteJob(
  { name, remote }: Engine,
  id: string,
  onNote: (text: string) => void,
): Promise<ClaimedJob> {
  const project = process.cwd();
  const directory = join(jobsPath(project), id);
  const config = readJobConfig(directory);
  if (!config || !hasAllOptions(config)) throw damagedJob(id);
  const trainedBy = readEngineName(directory) ?? "another engine";
  if (!remote || name !== trainedBy) {
    throw new KitError(
      "CANNOT_ATTACH",
      `${trainedBy} trains job ${id}, but the project's trainer now uses ${name}. Set its engine back to follow the job.`,
    );
  }
  refuseLinkedArtifacts(directory);
  const location = readRemoteLocation(directory);
  // Before taking the job: one that can't be reached must stay free for others.
  if (location) await remote.reach(location, id);
  const owned = await takeJob(project, id, { onNote });
  return { owned, config: config as unknown as JobConfig, remote };
}

/** Whether a config has the options that following a job needs. */
function hasAllOptions({
  engine,
  model,
  dataset,
  batchSize,
  saveSteps,
}: Record<string, unknown>): boolean {
  const counts = [batchSize, saveSteps].every(Number.isSafeInteger);
  return isRecord(engine) && model !== undefined && isRecord(dataset) && counts;
}

/** The history of a job's earlier processes, from its files. */
export function historyOf(directory: string): JobHistory {
  const location = readRemoteLocation(directory);
  if (!location) throw new Error(`${directory} has no placement.json.`);
  return { location, events: eventsOf(directory), from: resumedIn(directory, location) };
}

/** The engine's reported events, and the evaluations. */
function eventsOf(directory: string): PastEvent[] {
  const records = [...readLog(directory)].filter(
    (record) => ![EVALUATING, PREPARING].includes(record.event) && !isFinalEvent(record),
  );
  return records.map(({ event, data, time = "" }) => {
    const at = Date.parse(time);
    if (event === EVALUATED && v.is(EVENT_SCHEMAS[event], data)) return { event, data, at };
    return { ...asEngineEvent("of the log", { event, data }), at };
  });
}

function resumedIn(directory: string, { resumed }: RemoteLocationRecord): ResumePoint | undefined {
  if (!resumed) return undefined;
  const from = join(dirname(directory), resumed.jobId);
  const checkpoint = join(from, ARTIFACTS, checkpointFolder(resumed.step));
  return { ...resumed, directory: from, checkpoint };
}
