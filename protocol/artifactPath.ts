import { printable } from "./printable.ts";

/** The folder of a job's artifacts, in the job's directory. */
export const ARTIFACTS = "artifacts";

/** The name of a checkpoint's folder among the artifacts. */
export function checkpointFolder(step: number): string {
  return `step-${step}`;
}

/** The step of a checkpoint by the name of its folder or its record; undefined for another name. */
export function stepOfEntry(name: string): number | undefined {
  const [, step] = /^step-(\d+)(?:\.stored\.json)?$/.exec(name) ?? [];
  return step === undefined ? undefined : Number(step);
}

const STORED = ".stored.json";

/** Where an artifact's record lies, beside its folder, if its files are kept on other machines. */
export function storedRecordPath(artifact: string): string {
  return `${artifact}${STORED}`;
}

/** The name of a folder while it is fetched. What an interrupted fetch leaves there is used by the next. */
export function fetchFolder(name: string): string {
  return `.${name}.fetch`;
}

const PARTIAL = ".partial";

/** The name of a folder while it is being written or removed. */
export function partialFolder(name: string): string {
  return `.${name}${PARTIAL}`;
}

/** Whether it is the name of such a folder. */
export function isPartialFolder(name: string): boolean {
  return name.startsWith(".") && name.endsWith(PARTIAL);
}

/** Whether a path, relative to the job's directory and with forward slashes, leads to an artifact. */
export function isArtifactPath(path: unknown): path is string {
  const [folder, ...rest] = typeof path === "string" ? path.split("/") : [];
  return folder === ARTIFACTS && rest.length > 0 && rest.every(isPlainName);
}

function isPlainName(name: string): boolean {
  return !["", ".", ".."].includes(name) && !name.includes("\\") && name === printable(name);
}
