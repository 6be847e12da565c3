import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { BuildOptions, BuildResult } from "esbuild";

/**
 * Builds with esbuild, then ends esbuild's process. An orphan would become a child of PID 1, which
 * may be `kit ui` in a container, and Node doesn't reap processes that it hasn't started.
 */
export async function buildOnce(options: BuildOptions): Promise<BuildResult> {
  const { build, stop } = await import("esbuild");
  const started: ChildProcess[] = [];
  const onStart = (message: unknown) => {
    started.push((message as { process: ChildProcess }).process);
  };
  subscribe("child_process", onStart);
  try {
    return await build(options);
  } finally {
    unsubscribe("child_process", onStart);
    await stop();
    await Promise.all(started.map(untilEnded));
  }
}

async function untilEnded(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  // Stay alive until the child has exited.
  child.ref();
  await once(child, "exit");
}
