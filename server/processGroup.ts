/** Signals a process group by the id of its leader. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  // To the system, 0 is our own group and -1 is every process.
  if (!Number.isInteger(pid) || pid <= 1) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}

/** Whether no process of the group is left. */
export function isGroupGone(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return false;
  } catch (error) {
    // EPERM: one is left that has become somebody else's.
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
