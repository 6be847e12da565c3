import { pathInside } from "../../jobs/paths.ts";

/** Quotes a word for a shell where necessary: on Windows for cmd, too, which knows no single quotes. */
export function shellWord(word: string): string {
  const isWindows = process.platform === "win32";
  if (/^[\w@:./-]*$/.test(isWindows ? word.replaceAll("\\", "/") : word)) return word;
  return isWindows
    ? `"${word.replaceAll('"', String.raw`\"`)}"`
    : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A relative path; an absolute one if it leads out of the folder. Empty for the folder itself. */
export function pathFrom(folder: string, path: string): string {
  return pathInside(folder, path) ?? path;
}
