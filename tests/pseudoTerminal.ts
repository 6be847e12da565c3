import { once } from "node:events";
import { onTestFinished } from "vitest";
import { type Spawned, spawnProcess } from "./process.ts";

/** An interactive shell in a real pseudo-terminal. */
export interface PseudoTerminal {
  type: (line: string) => void;
  /**
   * Ends the shell by SIGHUP, as a lost connection does, and takes the terminal away; resolves when
   * the shell has signalled its jobs.
   */
  hangUp: () => Promise<void>;
}

export async function openTerminal(cwd: string): Promise<PseudoTerminal> {
  const shell = "bash --norc --noprofile -i";
  const terminal: Spawned = spawnProcess("script", ["-qec", shell, "/dev/null"], cwd);
  const type = (line: string) => void terminal.child.stdin?.write(`${line}\n`);
  let printed = "";
  terminal.child.stdout?.on("data", (chunk) => (printed += String(chunk)));
  type("echo shell=$$.");
  while (!/shell=\d+\./.test(printed)) await once(terminal.child.stdout!, "data");
  const pid = Number(/shell=(\d+)\./.exec(printed)?.[1]);
  onTestFinished(() => terminal.kill());
  return {
    type,
    async hangUp() {
      // Without a terminal, the shell may read its end before it takes the signal, and leave its jobs.
      process.kill(pid, "SIGHUP");
      while (isThere(pid)) await new Promise((resolve) => setImmediate(resolve));
      await terminal.kill();
    },
  };
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
