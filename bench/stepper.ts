import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Scope } from "./scope.ts";

/** Answers how many milliseconds a step took. */
export type Stepper = () => Promise<number>;

/** Starts a process that takes a step for each line it is sent, and prints how long it took. */
export function startStepper(scope: Scope, program: string, args: string[]): Stepper {
  const { stdin, stdout } = scope.start(program, args, "pipe");
  if (!stdin || !stdout) throw new Error("A stepper has no pipes.");
  const lines = createInterface({ input: stdout });
  const ended = once(lines, "close").then(() => {
    throw new Error(`${program} ended before it had taken its step.`);
  });
  // Told to whoever waits for a step; at the end nobody does.
  ended.catch(() => {});
  return async function step() {
    const line = once(lines, "line") as Promise<[string]>;
    stdin.write("\n");
    const [ms] = await Promise.race([line, ended]);
    return Number(ms);
  };
}
