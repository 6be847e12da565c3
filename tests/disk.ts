import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Mounts a disk of this many KiB at a folder, until the test has finished. */
export function mountDisk(folder: string, kib: number, ...options: string[]): void {
  mkdirSync(folder, { recursive: true });
  mount("-t", "tmpfs", "-o", [`size=${kib}k`, ...options].join(), "tmpfs", folder);
  // Lazily: a process that the test has killed may not be gone yet.
  onTestFinished(() => void execFileSync("umount", ["-l", folder]));
}

export function makeReadOnly(folder: string): void {
  mount("-o", "remount,ro", folder);
}

/** Leaves no room on the disk at a folder. */
export function fillDisk(folder: string): void {
  for (const size of [64 * 1024, 4 * 1024, 1]) {
    for (let n = 0; tryWrite(join(folder, `fill-${size}-${n}`), size); n++);
  }
}

/** Undoes `fillDisk`. */
export function emptyDisk(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith("fill-")) rmSync(join(folder, name));
  }
}

function tryWrite(path: string, size: number): boolean {
  try {
    writeFileSync(path, Buffer.alloc(size));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return false;
    throw error;
  }
}

function mount(...args: string[]): void {
  try {
    execFileSync("mount", args, { stdio: "pipe" });
  } catch (cause) {
    throw new Error("This test mounts a small disk: run it as root, with CAP_SYS_ADMIN.", {
      cause,
    });
  }
}
