import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { spawnProcess } from "./process.ts";

const HOLDER = `
  const { takeLock } = await import(process.argv[1]);
  const { createInterface } = await import("node:readline");
  const lock = await takeLock(process.argv[2], 0);
  console.log(lock ? "held" : "refused");
  for await (const line of createInterface(process.stdin)) {
    if (line === "release") lock.release();
    console.log(line === "release" ? "released" : lock.isHeld());
  }`;

/** A lock held by a process in a pid namespace of its own, as in a container. */
export async function holdInContainer(path: string) {
  const dist = new URL("../dist/disk/lock.js", import.meta.url).href;
  const node = [process.execPath, "--input-type=module", "-e", HOLDER, dist, path];
  const namespace = ["--pid", "--fork", "--kill-child", "--mount-proc"];
  const { child, pid, line, kill } = spawnProcess("unshare", [...namespace, ...node]);
  expect(await line()).toBe("held");
  // Of `unshare`; its child is the holder.
  const holder = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
  return {
    kill,
    suspend: () => void process.kill(holder, "SIGSTOP"),
    resume: () => void process.kill(holder, "SIGCONT"),
    ask(question: "isHeld" | "release"): Promise<string> {
      child.stdin?.write(`${question}\n`);
      return line();
    },
  };
}
