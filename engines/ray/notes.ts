import { isRecord } from "../../protocol/isRecord.ts";
import type { Hello } from "../python/messages.ts";

/** The cluster's programs, for people. */
export function describe({ python, executable, packages }: Hello, remote: string): string {
  const versions = Object.entries({ Python: python, ...packages });
  const named = versions.map(([name, version]) => `${name} ${version}`).join(", ");
  return `${named} (${executable}, of ${remote})`;
}

/** What Ray does before it starts a job, according to its API. */
export function preparation({ runtime_env: environment }: Record<string, unknown>): string {
  const hasPip = isRecord(environment) && environment["pip"] !== undefined;
  return hasPip ? "it installs ray's pip packages for the job" : "it unpacks the job's package";
}
