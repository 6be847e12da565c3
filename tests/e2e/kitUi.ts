import type { ChildProcess } from "node:child_process";
import { onTestFinished } from "vitest";
import { type Ended, startKit } from "../kit.ts";

/** A real `kit ui` on a project. */
export interface KitUi {
  /** As printed, with the token if there is one. */
  url: string;
  port: number;
  process: ChildProcess;
  /** Everything it printed, once it has ended. */
  ended: Promise<Ended>;
}

export interface KitUiOptions {
  /** In addition to `--no-open` and `--port`. */
  options?: string[];
  env?: NodeJS.ProcessEnv;
  /** A program and its arguments that execute `kit ui`. */
  within?: string[];
}

/** Starts `kit ui` on a free port. The end of the test ends it and its run. */
export async function startKitUi(
  project: string,
  port = 0,
  { options = [], env, within }: KitUiOptions = {},
): Promise<KitUi> {
  const args = ["ui", "--no-open", "--port", String(port), ...options];
  const { child, ended, printed } = startKit(project, args, env, within);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const url = /http:\S+/.exec(await printed(/http:\S+\n|http:\S+ /))?.[0] ?? "";
  return { url, port: Number(new URL(url).port), process: child, ended };
}
