/** Shells report this code for a process that SIGINT ended. */
const INTERRUPTED = 130;

/** The exit codes of every command. */
export const EXIT_CODE = {
  completed: 0,
  /** The job keeps running remotely. */
  detached: 0,
  failed: 1,
  usageError: 2,
  cancelled: INTERRUPTED,
} as const;

let last: number | undefined;

/**
 * Sets the exit code last, so that the project's own exit listeners can't change it; a later call
 * replaces it, also from an exit listener. Returns it.
 */
export function lastExitCode(code: number): number {
  last = code;
  process.once("exit", () => (process.exitCode = last));
  return code;
}
