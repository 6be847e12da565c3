/** This package's version, as its `package.json` has it. */
export const VERSION = "0.1.0";

/**
 * Whether a version keeps what this one relies on. Before 1.0 a minor version may change it, and from
 * then on a major one; a patch never does.
 */
export function isCompatible(version: string | undefined): boolean {
  return version !== undefined && stablePart(version) === stablePart(VERSION);
}

function stablePart(version: string): string {
  const [major = "", minor = ""] = version.split(".");
  return major === "0" ? `0.${minor}` : major;
}
