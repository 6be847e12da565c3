import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Size } from "./row.ts";

/** A row's resources, which are released when the row has ended. */
export interface Scope {
  size: Size;
  /** One of three, by the size. */
  pick: <T>(sizes: Record<Size, T>) => T;
  /** To be called at the end, the last first. */
  defer: (undo: () => unknown) => void;
  /** A new empty folder, its absolute path without symbolic links. */
  folder: () => string;
  /** A subprocess with its output, and its input if asked, as a pipe; killed at the end. */
  start: (program: string, args: string[], input?: "pipe") => ChildProcess;
}

/** Runs a row's work and undoes what it made, also when it fails or takes longer than it may. */
export async function inScope<T>(
  size: Size,
  limitMs: number,
  work: (scope: Scope) => Promise<T>,
): Promise<T> {
  const undos: (() => unknown)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const tooLong = new Error(`It did not end within ${limitMs / 1000} s.`);
    timer = setTimeout(() => reject(tooLong), limitMs);
  });
  try {
    return await Promise.race([work(createScope(size, undos)), limit]);
  } finally {
    clearTimeout(timer);
    for (const undo of undos.reverse()) await undo();
  }
}

function createScope(size: Size, undos: (() => unknown)[]): Scope {
  const defer = (undo: () => unknown) => void undos.push(undo);
  return {
    size,
    pick: (sizes) => sizes[size],
    defer,
    folder() {
      const path = realpathSync(mkdtempSync(join(tmpdir(), "kit-bench-")));
      defer(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
      return path;
    },
    start(program, args, input) {
      const child = spawn(program, args, { stdio: [input ?? "ignore", "pipe", "inherit"] });
      const exit = once(child, "exit");
      defer(async () => {
        child.kill("SIGKILL");
        await exit;
      });
      return child;
    },
  };
}
