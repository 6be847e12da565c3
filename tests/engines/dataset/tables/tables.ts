import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readTable } from "../../../../engines/dataset/tables/tables.ts";
import { typeOfFile } from "../../../../protocol/dataset.ts";
import { scratchDirectory, scratchFile } from "../../embedded/scratch.ts";

/** The path of a file that `fixtures/make.py` has written. */
export function fixture(name: string): string {
  return join(import.meta.dirname, "fixtures", name);
}

/** A file of a table with this content, by its name. */
export function table(name: string, content: string | Uint8Array): string {
  return scratchFile(name, content);
}

/** A fixture with some of its bytes changed. */
export function changed(name: string, change: (bytes: Buffer) => Buffer): string {
  return scratchFile(name, change(readFileSync(fixture(name))));
}

/** A fixture under another name. */
export function renamed(name: string, to: string): string {
  const path = join(scratchDirectory(), to);
  copyFileSync(fixture(name), path);
  return path;
}

/** All rows, as the type of the file's name says. */
export async function rowsOf(path: string): Promise<Record<string, unknown>[]> {
  return (await readAll(path)).map(({ value }) => value);
}

/** Where the rows are, without the folder. */
export async function placesOf(path: string): Promise<string[]> {
  return (await readAll(path)).map(({ where }) => where.slice(path.lastIndexOf("/") + 1));
}

/** Why a file cannot be read: its error's code and message, without the folder. */
export async function refusal(path: string): Promise<string> {
  try {
    await readAll(path);
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return `${code} ${message.replaceAll(path.slice(0, path.lastIndexOf("/") + 1), "")}`;
  }
  return "none";
}

async function readAll(path: string) {
  const type = typeOfFile(path);
  if (type === "jsonl") throw new Error(`${path} is not a table.`);
  const rows: { value: Record<string, unknown>; where: string }[] = [];
  for await (const row of readTable(type, path)) rows.push(row);
  return rows;
}
