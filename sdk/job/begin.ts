import { readJobStart } from "../../jobs/jobStart.ts";
import { type OwnedJob, createOwnedJob } from "../../jobs/ownedJob.ts";
import { waitForTurn } from "../../jobs/queue.ts";
import { attachable, historyOf } from "../../jobs/remote/attach.ts";
import { createJobStore, removePartialRows } from "../../jobs/store.ts";
import { EVALUATED } from "../../protocol/event.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { freezeDatasets, frozenConfig } from "../engine.ts";
import type { CheckedOptions } from "../options.ts";
import { asError } from "../projectCode.ts";
import { placedError, resolveConfig } from "./config.ts";
import type { JobResult } from "./end.ts";
import type { JobHandle, Observer } from "./observer.ts";
import { planResume } from "./resume.ts";
import type { RunJobOptions } from "./run.ts";
import { runEngine, trainFrom } from "./runEngine.ts";
import { runJob } from "./runJob.ts";

/** A job that has begun. The project is the current directory. */
export interface StartedJob {
  created: JobHandle;
  ended: Promise<JobResult>;
}

/** What a trainer has for its one job. */
export interface Beginning {
  checked: CheckedOptions;
  observer: Required<Observer>;
  cancel: AbortSignal;
  leave: AbortSignal;
}

/** @throws KitError `CANNOT_WRITE`, `CANNOT_RESUME` */
export function beginJob(beginning: Beginning, resume: boolean): StartedJob {
  const { checked, observer } = beginning;
  const { name, engine } = checked;
  const project = process.cwd();
  const config = resolveConfig({ ...checked.config, resume }, project);
  const resuming = resume ? planResume(project, name, config) : undefined;
  const owned = createOwnedJob(project, name, config, {
    remote: engine.remote !== undefined,
  });
  const waitHere = (signal: AbortSignal) =>
    waitForTurn(createJobStore(project), owned, signal, (before) => {
      resuming?.refuseTwin(owned.job.id);
      observer.onWait(before);
    });
  return run(beginning, owned, config, {
    startsAt: resuming?.step,
    async train(options) {
      // Other machines have a queue of their own.
      if (engine.remote) owned.claimTurn(true);
      else await waitHere(options.signal);
      removePartialRows(createJobStore(project));
      const points = resuming?.find(observer.onNote) ?? [];
      const [point] = points;
      const { config: ready, inPlaces } = await freezeDatasets(config, {
        ...{ code: checked.code, directory: owned.directory },
        from: point && { ...readJobStart(point.directory), directory: point.directory },
        ...{ onNote: observer.onNote, signal: AbortSignal.any([options.signal, options.leave]) },
      });
      const onNote = (text: string) => options.onNote(inPlaces(text));
      try {
        await options.beforeTraining(ready, point);
        return await trainFrom(points, engine, { ...options, onNote, config: ready });
      } catch (error) {
        throw placedError(error, inPlaces);
      }
    },
  });
}

/**
 * Goes on with a job of an earlier process, which runs remotely.
 * @throws KitError `CANNOT_ATTACH`, `CANNOT_READ`, `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function attachJob(beginning: Beginning, id: string): Promise<StartedJob> {
  const { checked, observer } = beginning;
  const { owned, config, remote } = await attachable(checked.engine, id, observer.onNote);
  const recorded = orGiveUp(owned, historyOf);
  const { location, events, from } = recorded;
  const seen = events.filter(({ event }) => event !== EVALUATED).length;
  return run(beginning, owned, config, {
    recorded,
    startsAt: from && (() => from.step),
    async train({ onEvent, onRemote: _, ...options }) {
      await options.beforeTraining(await frozenConfig(config, owned.directory), from);
      const engine: Parameters<typeof runEngine>[0] = {
        name: checked.engine.name,
        train: (asked) => remote.follow({ ...asked, location, seen }),
      };
      return runEngine(engine, { ...options, onEvent: (event) => onEvent(event, from) });
    },
  });
}

/** Others may follow a job that this process cannot. */
function orGiveUp<T>(owned: OwnedJob, read: (directory: string) => T): T {
  try {
    return read(owned.directory);
  } catch (error) {
    owned.close();
    throw error;
  }
}

function run(
  { checked, observer, cancel, leave }: Beginning,
  owned: OwnedJob,
  config: JobConfig,
  how: Pick<RunJobOptions, "train" | "recorded" | "startsAt">,
): StartedJob {
  const failure = new AbortController();
  const { job, directory } = owned;
  const fail = (error: unknown) => failure.abort(asError(error));
  const created = { job, config, directory, fail };
  observer.onCreated(created);
  if (how.recorded) observer.onAttached(how.recorded.location, how.recorded.events);
  const { engine, callbacks, metrics } = checked;
  const ended = runJob({
    ...{ owned, config, engine, callbacks, metrics, leave, failure, observer },
    ...{ ...how, cancel: AbortSignal.any([cancel, owned.cancelled]) },
  });
  return { created, ended };
}
