import { once } from "node:events";
import { createInterface } from "node:readline";
import { peakMemory } from "./machine.ts";
import type { Scope } from "./scope.ts";

/** A process that does a piece of work for each line it is sent. */
export interface Asked<Answer> {
  /** Answers what its next line says, which is JSON. */
  ask: () => Promise<Answer>;
  /** The most memory that it has had, in MB. */
  peak: () => number;
}

export function startAsked<Answer>(scope: Scope, program: string, args: string[]): Asked<Answer> {
  const { pid, stdin, stdout } = scope.start(program, args, "pipe");
  if (!stdin || !stdout || pid === undefined) throw new Error(`${program} did not start.`);
  const lines = createInterface({ input: stdout });
  const ended = once(lines, "close").then(() => {
    throw new Error(`${program} ended before it had answered.`);
  });
  // Told to whoever waits for an answer; at the end nobody does.
  ended.catch(() => {});
  async function ask() {
    const line = once(lines, "line") as Promise<[string]>;
    stdin?.write("\n");
    const [answer] = await Promise.race([line, ended]);
    return JSON.parse(answer) as Answer;
  }
  return { ask, peak: () => peakMemory(pid) };
}

/** Answers how many milliseconds a step took. */
export type Stepper = () => Promise<number>;

/** Starts a process that takes a step for each line it is sent, and prints how long it took. */
export function startStepper(scope: Scope, program: string, args: string[]): Stepper {
  return startAsked<number>(scope, program, args).ask;
}
