import type { Hello } from "../python/messages.ts";

/** The cluster's programs, for people. */
export function describe({ python, executable, packages }: Hello, remote: string): string {
  const versions = Object.entries({ Python: python, ...packages });
  const named = versions.map(([name, version]) => `${name} ${version}`).join(", ");
  return `${named} (${executable}, of ${remote})`;
}
