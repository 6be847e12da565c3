import type { RemoteLocation } from "../../protocol/engine.ts";
import type { JobEvent, PastEvent } from "../../protocol/event.ts";
import type { Job } from "../../protocol/job.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";

/** A new job, and a way to fail it for errors outside its callbacks. */
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
  /** Called with each job that this one waits for. */
  onWait?: (before: Job) => void;
  /** Called when the cluster has the run, which now survives this process. */
  onRemote?: (location: RemoteLocation) => void;
  /** Called with the location of an earlier process's job, and its events so far. */
  onAttached?: (location: RemoteLocation, events: readonly PastEvent[]) => void;
  /** Called with each logged event, before the callbacks. */
  onEvent?: (event: JobEvent) => void;
  /** Called with progress during slow steps. */
  onNote?: (text: string) => void;
  /** Called when the job keeps running without this process. */
  onDetached?: (location: RemoteLocation) => void;
}

/** Passes each call to all observers, also to later ones. */
export function broadcast(observers: readonly Observer[]): Required<Observer> {
  const each = (pass: (observer: Observer) => void) => observers.forEach(pass);
  return {
    onCreated: (created) => each((observer) => observer.onCreated?.(created)),
    onWait: (before) => each((observer) => observer.onWait?.(before)),
    onRemote: (location) => each((observer) => observer.onRemote?.(location)),
    onAttached: (location, events) => each((observer) => observer.onAttached?.(location, events)),
    onEvent: (event) => each((observer) => observer.onEvent?.(event)),
    onNote: (text) => each((observer) => observer.onNote?.(text)),
    onDetached: (location) => each((observer) => observer.onDetached?.(location)),
  };
}
