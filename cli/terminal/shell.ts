import { relative } from "node:path";

/** Quotes a word for a shell where necessary. */
export function shellWord(word: string): string {
  return /^[\w@:./-]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A relative path; an absolute one if it leads out of the folder. Empty for the folder itself. */
export function pathFrom(folder: string, path: string): string {
  const inside = relative(folder, path);
  return inside.startsWith("..") ? path : inside;
}
