/** Signals a process group by the id of its leader. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  // For `kill`, 0 means our own group and -1 every process.
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
    // EPERM: one is left, which now runs as another user.
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
