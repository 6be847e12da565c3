import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Size } from "./row.ts";

/** A row's resources, released at its end. */
export interface Scope {
  size: Size;
  /** Picks a value by the size. */
  pick: <T>(sizes: Record<Size, T>) => T;
  /** Registers a cleanup; the last registered runs first. */
  defer: (undo: () => unknown) => void;
  /** Creates an empty folder; returns its real path. */
  folder: () => string;
  /** Starts a subprocess with piped output, and piped input if requested; killed at the end. */
  start: (program: string, args: string[], input?: "pipe") => ChildProcess;
}

const sharedUndos: (() => unknown)[] = [];

/** Registers a cleanup after the last row. */
export function deferToEnd(undo: () => unknown): void {
  sharedUndos.push(undo);
}

/** Call after the last row. */
export async function releaseShared(): Promise<void> {
  for (const undo of sharedUndos.reverse()) await undo();
}

/** Runs a row's work and cleans up, even if it fails or exceeds the limit. */
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
