/** Where a training runs that goes on when its owner's process here ends. Holds no secret. */
export interface Placement {
  /** As sentences name it: `the Ray cluster at http://head:8265`. */
  where: string;
  /** With which the engine finds it again. */
  address: string;
  /** Where it keeps its checkpoints: a path there, or a URL. */
  checkpoints: string;
  /** The run of those machines to which it was handed; another at this address does not know it. */
  session?: string;
}
