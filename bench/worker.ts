import { once } from "node:events";
import { createInterface } from "node:readline";
import { peakMemory } from "./machine.ts";
import type { Scope } from "./scope.ts";

/** A process that does some work for each line of its input. */
export interface Worker<Answer> {
  /** Requests work, by a line of JSON. @returns the parsed JSON of its next line */
  ask: (request?: object) => Promise<Answer>;
  /** Peak memory in MB. */
  peak: () => number;
}

export function startWorker<Answer>(scope: Scope, program: string, args: string[]): Worker<Answer> {
  const { pid, stdin, stdout } = scope.start(program, args, "pipe");
  if (!stdin || !stdout || pid === undefined) throw new Error(`${program} did not start.`);
  const lines = createInterface({ input: stdout });
  const ended = once(lines, "close").then(() => {
    throw new Error(`${program} ended before it had answered.`);
  });
  // Rejects a pending request; at the end there is none.
  ended.catch(() => {});
  async function ask(request = {}) {
    const line = once(lines, "line") as Promise<[string]>;
    stdin?.write(`${JSON.stringify(request)}\n`);
    const [answer] = await Promise.race([line, ended]);
    return JSON.parse(answer) as Answer;
  }
  return { ask, peak: () => peakMemory(pid) };
}
