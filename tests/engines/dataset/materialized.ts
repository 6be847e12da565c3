import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type FileDataset, materializeDataset } from "../../../engines/dataset/materialize.ts";
import { ROW_FORMAT } from "../../../engines/dataset/row.ts";
import type { DatasetCode } from "../../../protocol/dataset.ts";
import { typeOfFile } from "../../../protocol/dataset.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

/** What a job makes of a user's file: the canonical rows, as they are written, and the notes. */
export async function frozen(
  path: string,
  options: Partial<FileDataset> = {},
  code: DatasetCode = {},
): Promise<{ rows: string[]; notes: string[] }> {
  const to = join(scratchDirectory(), "data.jsonl");
  const notes: string[] = [];
  const dataset = { type: typeOfFile(path), path, ...options };
  await materializeDataset(dataset, code, to, {
    name: path,
    format: ROW_FORMAT,
    onNote: (note) => void notes.push(note.replaceAll(path, "FILE")),
  });
  return { rows: readFileSync(to, "utf8").trimEnd().split("\n"), notes };
}

/** The sentence with which a job refuses a user's file. */
export async function refusalOf(path: string, options: Partial<FileDataset> = {}): Promise<string> {
  try {
    await frozen(path, options);
  } catch (error) {
    return (error as Error).message.replaceAll(path, "FILE");
  }
  return "none";
}
