import type { RemoteLocation } from "../../protocol/engine.ts";
import type { JobEvent, PastEvent } from "../../protocol/event.ts";
import type { Job } from "../../protocol/job.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";

/** A new job, and a way to fail it for errors outside of its callbacks. */
export interface JobHandle {
  job: Job;
  config: JobConfig;
  /** Absolute path of the job's directory. */
  directory: string;
  fail: (error: unknown) => void;
}

/** Internal lifecycle hooks. */
export interface Observer {
  onCreated?: (created: JobHandle) => void;
  /** Takes the job that this one waits for, then each further one. */
  onWait?: (before: Job) => void;
  /** The cluster has the training; it survives this process. */
  onRemote?: (location: RemoteLocation) => void;
  /** Takes where a job of an earlier process runs, and its events so far. */
  onAttached?: (location: RemoteLocation, events: readonly PastEvent[]) => void;
  /** Takes each event once it is in the log, before the callbacks. */
  onEvent?: (event: JobEvent) => void;
  /** Called with progress during slow steps. */
  onNote?: (text: string) => void;
  /** The job was left: it goes on there. */
  onDetached?: (location: RemoteLocation) => void;
}

/** Passes on to each observer, those added later too. */
export function broadcast(observers: readonly Observer[]): Required<Observer> {
  const each = (pass: (observer: Observer) => void) => observers.forEach(pass);
  return {
    onCreated: (created) => each((one) => one.onCreated?.(created)),
    onWait: (before) => each((one) => one.onWait?.(before)),
    onRemote: (location) => each((one) => one.onRemote?.(location)),
    onAttached: (location, events) => each((one) => one.onAttached?.(location, events)),
    onEvent: (event) => each((one) => one.onEvent?.(event)),
    onNote: (text) => each((one) => one.onNote?.(text)),
    onDetached: (location) => each((one) => one.onDetached?.(location)),
  };
}
