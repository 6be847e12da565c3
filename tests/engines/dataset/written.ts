import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type FileDataset, materializeDataset } from "../../../engines/dataset/materialize.ts";
import { ROW_FORMAT } from "../../../engines/dataset/row.ts";
import type { RowFormat } from "../../../engines/dataset/rowFormat.ts";
import { nameOf } from "../../../engines/dataset/rows.ts";
import type { DatasetCode } from "../../../protocol/dataset.ts";
import { isKitError } from "../../../protocol/error.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";

export interface Written {
  /** As every engine reads them. */
  rows: object[];
  text: string;
  /** What a person is told, without folders. */
  notes: string[];
}

/** What a training gets of a dataset. */
export async function written(
  dataset: FileDataset,
  { format: form = ROW_FORMAT, code = {} }: { format?: RowFormat<object>; code?: DatasetCode } = {},
): Promise<Written> {
  const path = join(scratchDirectory(), "data.jsonl");
  const notes: string[] = [];
  const onNote = (text: string) => notes.push(withoutFolders(text));
  const name = dataset.type === "code" ? "dataset" : nameOf(dataset.path);
  await materializeDataset(dataset, code, path, { name, format: form, onNote });
  const text = readFileSync(path, "utf8");
  const rows = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  return { rows, text, notes };
}

/** What a training gets of rows in a JSONL file. */
export function writtenLines(rows: object[], form?: RowFormat<object>): Promise<Written> {
  const dataset = { type: "jsonl", path: scratchFile("data.jsonl", jsonl(rows)) } as const;
  return written(dataset, form && { format: form });
}

/** Why a training does not begin, without folders. */
export async function refusalOf(training: Promise<unknown>): Promise<string> {
  try {
    await training;
  } catch (error) {
    if (isKitError(error)) return withoutFolders(error.message);
    throw error;
  }
  return "nothing";
}

function withoutFolders(text: string): string {
  return text.replaceAll(/\/\S*\//g, "");
}
