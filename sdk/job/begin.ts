import { readJobStart } from "../../jobs/jobStart.ts";
import { type OwnedJob, createOwnedJob } from "../../jobs/ownedJob.ts";
import { beginPlanned } from "../../jobs/plannedJob.ts";
import { waitForTurn } from "../../jobs/queue.ts";
import { claimRemoteJob, historyOf } from "../../jobs/remote/attach.ts";
import { createJobStore, removePartialRows } from "../../jobs/store.ts";
import { EVALUATED } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { materializeDatasets, materializedConfig } from "../engine.ts";
import type { CheckedOptions } from "../options.ts";
import { asError } from "../projectCode.ts";
import { resolveConfig } from "./config.ts";
import type { JobResult } from "./end.ts";
import type { JobHandle, Observer } from "./observer.ts";
import { type Resume, planResume } from "./resume.ts";
import type { RunJobOptions } from "./run.ts";
import { runJob } from "./runJob.ts";

/** A started job. The project is the current directory. */
export interface StartedJob {
  created: JobHandle;
  ended: Promise<JobResult>;
}

/** Everything that a trainer passes to its job. */
export interface JobSetup {
  checked: CheckedOptions;
  observer: Required<Observer>;
  cancel: AbortSignal;
  detachSignal: AbortSignal;
}

/** @throws KitError `CANNOT_WRITE`, `CANNOT_RESUME` */
export function beginJob(setup: JobSetup, resume: boolean): StartedJob {
  const { name, engine, config: prepared } = setup.checked;
  const project = process.cwd();
  const config = resolveConfig({ ...prepared, resume }, project);
  const resuming = resume ? planResume(project, name, config) : undefined;
  const owned = createOwnedJob(project, name, config, {
    remote: engine.remote !== undefined,
  });
  return runHere(setup, owned, config, resuming);
}

/**
 * Begins a job that another process has planned.
 * @throws KitError `JOB_NOT_FOUND`, `JOB_TAKEN`, `CANNOT_WRITE`
 */
export async function beginPlannedJob(setup: JobSetup, id: string): Promise<StartedJob> {
  const project = process.cwd();
  const config = resolveConfig(setup.checked.config, project);
  return runHere(setup, await beginPlanned(project, id, config), config, undefined);
}

function runHere(
  setup: JobSetup,
  owned: OwnedJob,
  config: JobConfig,
  resuming: Resume | undefined,
): StartedJob {
  const { checked, observer } = setup;
  const { engine } = checked;
  const project = process.cwd();
  const waitLocally = (signal: AbortSignal) =>
    waitForTurn(createJobStore(project), owned, signal, (before) => {
      resuming?.refuseConcurrent(owned.job.id);
      observer.onWait(before);
    });
  return run(setup, owned, config, {
    startsAt: resuming?.step,
    async prepare({ signal, detachSignal, observer: { onNote } }) {
      // Remote jobs skip this machine's queue.
      if (engine.remote) owned.claimTurn(true);
      else await waitLocally(signal);
      removePartialRows(createJobStore(project));
      const points = resuming?.find(observer.onNote) ?? [];
      const [point] = points;
      const materialized = await materializeDatasets(config, {
        code: checked.code,
        directory: owned.directory,
        from: point && { ...readJobStart(point.directory), directory: point.directory },
        onNote,
        signal: AbortSignal.any([signal, detachSignal]),
      });
      return { engine, points, ...materialized };
    },
  });
}

/**
 * Continues a remote job of an earlier process.
 * @throws KitError `CANNOT_ATTACH`, `CANNOT_READ`, `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function attachJob(setup: JobSetup, id: string): Promise<StartedJob> {
  const { checked, observer } = setup;
  const { owned, config, remote } = await claimRemoteJob(checked.engine, id, observer.onNote);
  const history = orRelease(owned, historyOf);
  const { location, events, from } = history;
  const seen = events.filter(({ event }) => event !== EVALUATED).length;
  return run(setup, owned, config, {
    recorded: history,
    startsAt: from && (() => from.step),
    prepare: async () => ({
      engine: {
        name: checked.engine.name,
        train: ({ onRemote: _, ...options }) => remote.follow({ ...options, location, seen }),
      },
      config: await materializedConfig(config, owned.directory),
      points: [],
    }),
  });
}

/** Releases the job on an error, so that another process can follow it. */
function orRelease<T>(owned: OwnedJob, read: (directory: string) => T): T {
  try {
    return read(owned.directory);
  } catch (error) {
    owned.close();
    throw error;
  }
}

function run(
  { checked, observer, cancel, detachSignal }: JobSetup,
  owned: OwnedJob,
  config: JobConfig,
  options: Pick<RunJobOptions, "prepare" | "recorded" | "startsAt">,
): StartedJob {
  const failure = new AbortController();
  const { job, directory } = owned;
  const fail = (error: unknown) => failure.abort(asError(error));
  const created = { job, config, directory, fail };
  observer.onCreated(created);
  if (options.recorded) observer.onAttached(options.recorded.location, options.recorded.events);
  const { engine, callbacks, metrics } = checked;
  const ended = runJob({
    owned,
    config,
    engine,
    callbacks,
    metrics,
    detachSignal,
    failure,
    observer,
    ...options,
    cancel: AbortSignal.any([cancel, owned.cancelled]),
  });
  return { created, ended };
}
