import { printable } from "./printable.ts";

/** The folder of a job's artifacts, in the job's directory. */
export const ARTIFACTS = "artifacts";

/** The name of a checkpoint's folder. */
export function checkpointFolder(step: number): string {
  return `step-${step}`;
}

/** The step in the name of a checkpoint's folder or record; undefined for another name. */
export function stepOfEntry(name: string): number | undefined {
  const [, step] = /^step-(\d+)(?:\.stored\.json)?$/.exec(name) ?? [];
  return step === undefined ? undefined : Number(step);
}

const STORED_SUFFIX = ".stored.json";

/** The path of a remote artifact's record, beside its folder. */
export function storedRecordPath(artifact: string): string {
  return `${artifact}${STORED_SUFFIX}`;
}

/** The name of a folder while it is fetched. The next fetch continues an interrupted one. */
export function fetchFolder(name: string): string {
  return `.${name}.fetch`;
}

const PARTIAL_SUFFIX = ".partial";

/** The name of a folder while it is being written or removed. */
export function partialFolder(name: string): string {
  return `.${name}${PARTIAL_SUFFIX}`;
}

/** Whether a name is a partial folder's. */
export function isPartialFolder(name: string): boolean {
  return name.startsWith(".") && name.endsWith(PARTIAL_SUFFIX);
}

/** Whether a path, relative to the job's directory and with forward slashes, is an artifact's. */
export function isArtifactPath(path: unknown): path is string {
  const [folder, ...rest] = typeof path === "string" ? path.split("/") : [];
  return folder === ARTIFACTS && rest.length > 0 && rest.every(isPlainName);
}

function isPlainName(name: string): boolean {
  return !["", ".", ".."].includes(name) && !name.includes("\\") && name === printable(name);
}
