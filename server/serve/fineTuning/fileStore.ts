import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  OWNER_ONLY_FOLDER,
  isFolder,
  isRegularFile,
  makeDirectory,
  refuseLink,
  syncFile,
  syncFolder,
  writeFileAtomically,
} from "../../../disk/file.ts";
import { readRecord } from "../../../disk/json.ts";
import { move, remove } from "../../../disk/move.ts";
import { processExists } from "../../../disk/owner.ts";

/** A file, as OpenAI's API shows it. */
export interface FileObject {
  id: string;
  object: "file";
  bytes: number;
  /** Unix time, in seconds. */
  created_at: number;
  filename: string;
  purpose: string;
  status: "processed";
}

/** An upload in progress. */
export interface PartialFile {
  /** Where its content goes. */
  path: string;
  /** Makes it a file of the store. `id` is unique by default, and sorts by time. */
  keep: (file: Pick<FileObject, "bytes" | "filename" | "purpose">, id?: string) => FileObject;
  /** Removes what was written. Idempotent, and without effect on a kept file. */
  discard: () => void;
}

export interface FileStore {
  /** @throws the errors of a write */
  create: () => PartialFile;
  /** Newest first, deleted files included. */
  list: () => FileObject[];
  /** Undefined for a deleted file. */
  get: (id: string) => FileObject | undefined;
  /** Also returns a deleted file, which errors and pages still name. */
  recall: (id: string) => FileObject | undefined;
  /** The path of a file's content. */
  contentPath: (id: string) => string;
  /** Deletes a file's content; its object stays. */
  remove: (id: string) => void;
}

const ID = /^file-[0-9a-z-]{24,40}$/;
const PARTIAL = /^\.upload-(\d+)-/;
const OBJECT = "file.json";
const CONTENT = "content";

/**
 * The files in `.kit/files`, each in a folder named by its id. Removes uploads of killed servers.
 * @throws KitError `LINK_IN_KIT`
 */
export function openFileStore(project: string): FileStore {
  const root = join(project, ".kit", "files");
  refuseLink(root);
  for (const name of namesIn(root)) {
    const [, pid] = PARTIAL.exec(name) ?? [];
    if (pid !== undefined && (Number(pid) === process.pid || !processExists(Number(pid)))) {
      remove(join(root, name));
    }
  }

  const contentPath = (id: string) => join(root, id, CONTENT);

  function recall(id: string): FileObject | undefined {
    const folder = join(root, id);
    if (!ID.test(id) || !isFolder(folder)) return undefined;
    const file = readRecord(join(folder, OBJECT)) ?? {};
    const isWhole = file.id === id && typeof file.created_at === "number";
    const isNamed = typeof file.filename === "string" && typeof file.bytes === "number";
    return isWhole && isNamed ? (file as unknown as FileObject) : undefined;
  }

  return {
    create() {
      const partial = join(root, `.upload-${process.pid}-${randomId()}`);
      makeDirectory(root);
      mkdirSync(partial, OWNER_ONLY_FOLDER);
      const path = join(partial, CONTENT);
      return {
        path,
        keep({ bytes, filename, purpose }, id = `file-${Date.now().toString(36)}${randomId()}`) {
          const created_at = Math.floor(Date.now() / 1000);
          const rest = { filename, purpose, status: "processed" } as const;
          const file: FileObject = { id, object: "file", bytes, created_at, ...rest };
          writeFileAtomically(join(partial, OBJECT), JSON.stringify(file, undefined, 2));
          syncFile(path);
          move(partial, join(root, id));
          syncFolder(root);
          return file;
        },
        discard: () => remove(partial),
      };
    },
    list() {
      const files = namesIn(root).flatMap((id) => recall(id) ?? []);
      return files.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1));
    },
    get: (id) => (isRegularFile(contentPath(id)) ? recall(id) : undefined),
    recall,
    contentPath,
    remove: (id) => remove(contentPath(id)),
  };
}

function namesIn(root: string): string[] {
  return isFolder(root) ? readdirSync(root) : [];
}

function randomId(): string {
  return BigInt(`0x${randomBytes(20).toString("hex")}`)
    .toString(36)
    .padStart(31, "0")
    .slice(-16);
}
