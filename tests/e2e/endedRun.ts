import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeOwner } from "../../disk/owner.ts";

/** Leaves an ended run with this output. */
export function leaveRun(project: string, output: string): void {
  const folder = join(project, ".kit", "run");
  const id = "00000000-0000-4000-8000-000000000000";
  const owner = { ...describeOwner(), startTime: "1" };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "output.log"), output);
  const lease = { id, owner, server: owner, renewal: 0, status: "failed", isReleased: true };
  writeFileSync(join(folder, "lease.json"), JSON.stringify(lease));
}
