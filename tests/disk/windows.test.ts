import fs, {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  makeDirectory,
  openRegular,
  readRegularFile,
  syncFile,
  syncFolder,
  writeFileAtomically,
} from "../../disk/file.ts";
import { takeLock } from "../../disk/lock.ts";
import { move, remove } from "../../disk/move.ts";
import { openRegularIfExists } from "../../disk/sharedTail.ts";
import { createProject } from "../project.ts";
import { useWindowsDisk } from "../windowsDisk.ts";

/** Opens a file, which closes in the pause of this number. */
function readerOf(path: string, pauses: number): number {
  const opened: number[] = [];
  let count = 0;
  useWindowsDisk(() => {
    if (++count === pauses) for (const file of opened) closeSync(file);
  });
  const reader = openSync(path, "r");
  opened.push(reader);
  return reader;
}

test("a file is replaced once its reader has closed it", () => {
  const folder = createProject({ lease: "old" });
  readerOf(join(folder, "lease"), 3);
  writeFileAtomically(join(folder, "lease"), "new");
  expect(readFileSync(join(folder, "lease"), "utf8")).toBe("new");
});

test("a file is replaced under a reader who never closes it, and who keeps the old one", () => {
  const folder = createProject({ "output.log": "old" });
  const reader = readerOf(join(folder, "output.log"), Infinity);
  writeFileAtomically(join(folder, "output.log"), "new");
  expect(readFileSync(join(folder, "output.log"), "utf8")).toBe("new");
  expect(readFileSync(reader, "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["output.log"]);
  closeSync(reader);
});

test("a lock that somebody looks at is released all the same", async () => {
  const path = join(createProject({}), "launch.lock");
  const readers: number[] = [];
  useWindowsDisk(() => readers.splice(0).forEach((file) => closeSync(file)));
  const lock = await takeLock(path, 0);
  expect(await takeLock(path, 0)).toBeUndefined();
  readers.push(openSync(join(path, "owner.json"), "r"));
  lock?.release();
  expect(existsSync(path)).toBe(false);
});

test("a lock that was busy when it was released is free once it no longer is", async () => {
  const path = join(createProject({}), "launch.lock");
  useWindowsDisk();
  const lock = await takeLock(path, 0);
  const reader = openSync(join(path, "owner.json"), "r");
  lock?.release();
  expect(await takeLock(path, 0)).toBeUndefined();
  closeSync(reader);
  expect((await takeLock(path, 0))?.isHeld()).toBe(true);
});

test.each([
  ["its replacement is open, too", "renameSync", "new", "EPERM: busy", "old"],
  ["what it was can't be removed", "rmSync", "", undefined, "new"],
] as const)("a file is replaced whole or not at all: %s", (_, method, busy, error, content) => {
  const folder = createProject({ file: "old", new: "new" });
  const reader = readerOf(join(folder, "file"), Infinity);
  const change = fs[method] as (from: string, rest: object | string) => void;
  Object.assign(fs, {
    [method](from: string, rest: string) {
      if (from.endsWith(busy)) throw Object.assign(new Error("EPERM: busy"), { code: "EPERM" });
      change(from, rest);
    },
  });
  syncBuiltinESMExports();
  const replace = () => move(join(folder, "new"), join(folder, "file"));
  if (error === undefined) replace();
  else expect(replace).toThrow(error);
  expect(readFileSync(join(folder, "file"), "utf8")).toBe(content);
  closeSync(reader);
});

test("a folder moves and goes once no file in it is open; none replaces another", () => {
  const folder = createProject({ "a/file": "1", "b/file": "1", "c/file": "1" });
  const [a, b, c, d] = [join(folder, "a"), join(folder, "b"), join(folder, "c"), join(folder, "d")];
  readerOf(join(a, "file"), 2);
  move(a, d);
  expect(readdirSync(d)).toEqual(["file"]);
  const reader = openSync(join(b, "file"), "r");
  expect(() => remove(b)).toThrow("ENOTEMPTY");
  closeSync(reader);
  remove(b);
  expect(existsSync(b)).toBe(false);
  vi.mocked(Atomics.wait).mockClear();
  expect(() => move(c, d)).toThrow("EPERM");
  expect(Atomics.wait).not.toHaveBeenCalled();
});

test("files are flushed, folders are not; a link is refused though Windows follows it", async () => {
  const folder = createProject({ file: "1" });
  symlinkSync(join(folder, "file"), join(folder, "link"));
  mkdirSync(join(folder, "inner"));
  useWindowsDisk();
  syncFile(join(folder, "file"));
  syncFolder(join(folder, "inner"));
  expect(() => openRegular(join(folder, "link"))).toThrow("is not a regular file");
  expect(readRegularFile(join(folder, "link"), "nothing", () => "something")).toBe("nothing");
  expect(await openRegularIfExists(join(folder, "link"))).toBeUndefined();
});

test("a folder on a drive that is not there is an error, not an endless search for its parent", () => {
  const { mkdirSync: mkdir, existsSync: exists } = fs;
  onTestFinished(() => {
    Object.assign(fs, { mkdirSync: mkdir, existsSync: exists });
    syncBuiltinESMExports();
  });
  Object.assign(fs, {
    mkdirSync: () => {
      throw Object.assign(new Error("ENOENT: mkdir"), { code: "ENOENT" });
    },
    existsSync: () => false,
  });
  syncBuiltinESMExports();
  expect(() => makeDirectory("/q/kit")).toThrow("ENOENT: mkdir");
});

test("elsewhere an error is one at once", () => {
  const folder = createProject({});
  writeFileSync(join(folder, "file"), "");
  const wait = vi.spyOn(Atomics, "wait");
  onTestFinished(() => wait.mockRestore());
  expect(() => move(join(folder, "gone"), join(folder, "file"))).toThrow("ENOENT");
  expect(wait).not.toHaveBeenCalled();
});
