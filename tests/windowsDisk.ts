import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname } from "node:path";
import { onTestFinished, vi } from "vitest";
import { simulatePlatform } from "./windows.ts";

const { O_ACCMODE, O_NOFOLLOW, O_RDONLY } = { ...fs.constants, O_ACCMODE: 3 };

/**
 * Until the test has finished, the disk is as Node finds it on Windows: it doesn't replace a file that is open,
 * nor move or remove a folder with one, nor replace a folder, nor flush what is open for reading; it lists with
 * backslashes, and follows a link. Node 22 for Windows answered so under Wine.
 * @param onPause called in place of each pause before another attempt
 */
export function useWindowsDisk(onPause: () => void = () => {}): void {
  const { openSync, closeSync, renameSync, rmSync, fsyncSync, readdirSync } = fs;
  const opened = new Map<number, { path: string; isRead: boolean }>();
  const isOpen = (path: string) => [...opened.values()].some((file) => file.path === path);
  const isOpenIn = (folder: string) =>
    [...opened.values()].some(({ path }) => dirname(path) === folder);
  const refuse = (code: string, syscall: string): never => {
    throw Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });
  };
  Object.assign(fs, {
    openSync(path: string, flags: string | number = "r", mode?: number) {
      const file = openSync(path, typeof flags === "number" ? flags & ~O_NOFOLLOW : flags, mode);
      const isRead = typeof flags === "number" ? (flags & O_ACCMODE) === O_RDONLY : flags === "r";
      opened.set(file, { path, isRead });
      return file;
    },
    closeSync(file: number) {
      opened.delete(file);
      closeSync(file);
    },
    renameSync(from: string, to: string) {
      const target = fs.lstatSync(to, { throwIfNoEntry: false });
      if (target && (isOpen(to) || target.isDirectory())) refuse("EPERM", "rename");
      if (isOpenIn(from)) refuse("EPERM", "rename");
      renameSync(from, to);
    },
    rmSync(path: string, options: fs.RmOptions) {
      if (isOpenIn(path)) refuse("ENOTEMPTY", "rmdir");
      rmSync(path, options);
    },
    readdirSync(path: string, options?: { recursive?: boolean }) {
      const names = readdirSync(path, options as object) as unknown as string[];
      return options?.recursive ? names.map((name) => name.replaceAll("/", "\\")) : names;
    },
    fsyncSync(file: number) {
      if (opened.get(file)?.isRead) refuse("EPERM", "fsync");
      fsyncSync(file);
    },
  });
  simulatePlatform("win32");
  const wait = vi.spyOn(Atomics, "wait").mockImplementation(() => {
    onPause();
    return "timed-out";
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    wait.mockRestore();
    Object.assign(fs, { openSync, closeSync, renameSync, rmSync, fsyncSync, readdirSync });
    syncBuiltinESMExports();
  });
}
