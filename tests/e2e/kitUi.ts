import type { ChildProcess } from "node:child_process";
import { onTestFinished } from "vitest";
import { startKit } from "../kit.ts";

/** A real `kit ui` on a project. */
export interface KitUi {
  url: string;
  port: number;
  process: ChildProcess;
}

/** Starts one on a free port; it and its run are ended with the test. */
export async function startKitUi(project: string, port = 0): Promise<KitUi> {
  const { child, ended, printed } = startKit(project, ["ui", "--no-open", "--port", String(port)]);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const url = /http:\S+/.exec(await printed(/http:\S+\n|http:\S+ /))?.[0] ?? "";
  return { url, port: Number(new URL(url).port), process: child };
}
