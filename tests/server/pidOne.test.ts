import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { CLI, createTinyProject } from "../kit.ts";
import { spawnProcess } from "../process.ts";

/** `kit ui` as a container without an init has it. */
const AS_PID_1 = ["--pid", "--fork", "--kill-child", "--mount-proc", process.execPath, CLI];

test("kit ui as PID 1 leaves no zombies of its manifests and runs", async () => {
  const project = createTinyProject();
  const container = spawnProcess(
    "unshare",
    [...AS_PID_1, "ui", "--no-open", "--port", "0"],
    project,
  );
  const url = /http:\S+/.exec(await container.line())?.[0] ?? "";
  // Also builds, because the bundle is missing.
  const train = await fetch(`${url}api/train`, { method: "POST" });
  expect(await train.text()).toContain("completed in ");
  const manifests = await Promise.all([1, 2, 3].map(() => fetch(`${url}api/manifest`)));
  expect(manifests.map(({ status }) => status)).toEqual([200, 200, 200]);
  const pid = childrenOf(container.pid)[0]?.pid ?? 0;
  await expect.poll(() => childrenOf(pid)).toEqual([]);
});

function childrenOf(pid: number): { pid: number; state: string }[] {
  const columns = "pid=,stat=,comm=,ppid=";
  const all = execFileSync("ps", ["-e", "-o", columns], { encoding: "utf8" }).trim().split("\n");
  const rows = all.map((line) => line.trim().split(/\s+/));
  const children = rows.filter((row) => row.at(-1) === String(pid));
  return children.map(([child, ...rest]) => ({ pid: Number(child), state: rest.join(" ") }));
}
