/** Shells give a process that SIGINT ended this code. */
const INTERRUPTED = 130;

/** The exit codes of every command. */
export const EXIT_CODE = {
  completed: 0,
  /** The job goes on remotely, as it was asked to. */
  detached: 0,
  failed: 1,
  usageError: 2,
  cancelled: INTERRUPTED,
} as const;

/** Keeps the code from the project's own listeners to the exit: a gate trusts it. Returns it. */
export function lastExitCode(code: number): number {
  process.once("exit", () => (process.exitCode = code));
  return code;
}
