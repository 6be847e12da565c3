/** The version in `package.json`. */
export const VERSION = "0.1.0";

/** Whether a version is compatible: the same minor version before 1.0, the same major version after. */
export function isCompatible(version: string | undefined): boolean {
  return version !== undefined && stablePart(version) === stablePart(VERSION);
}

function stablePart(version: string): string {
  const [major = "", minor = ""] = version.split(".");
  return major === "0" ? `0.${minor}` : major;
}
