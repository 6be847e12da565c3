/** Where a training runs that goes on when its owner's process here ends. Holds no token. */
export interface RemoteLocation {
  /** As sentences name it: `the Ray cluster at http://head:8265`. */
  where: string;
  /** With which the engine finds it again. */
  address: string;
  /** Where it keeps its checkpoints: a path there, or a URL. */
  checkpoints: string;
  /** Identifies the cluster that took the job, in case another one answers at its address later. */
  session?: string;
  /** Marks the job's own lines in its log there. Missing in records of an older Kit. */
  secret?: string;
}
