import childProcess from "node:child_process";
import fs, { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { delimiter, join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { RENEWAL_MS } from "../../disk/lease.ts";
import { spawnProcess } from "../process.ts";
import { createProject } from "../project.ts";
import { simulatePlatform, simulateWindows } from "../windows.ts";

/**
 * Kit's modules on a system without `/proc`, such as macOS and Windows.
 * @param session macOS's id of this boot
 */
async function loadWithoutProc(session?: string) {
  const fail = () => {
    throw new Error("ENOENT");
  };
  const spies: { mockRestore: () => void }[] = [
    vi.spyOn(fs, "readFileSync").mockImplementation(fail),
    vi.spyOn(fs, "readlinkSync").mockImplementation(fail),
  ];
  if (session !== undefined) {
    simulatePlatform("darwin");
    spies.push(vi.spyOn(childProcess, "execFileSync").mockReturnValue(`${session}\n`));
  }
  syncBuiltinESMExports();
  vi.resetModules();
  const owner = await import("../../disk/owner.ts");
  const { watchOwner } = await import("../../jobs/ownerWatch.ts");
  // The system is described once.
  owner.describeOwner();
  for (const spy of spies) spy.mockRestore();
  syncBuiltinESMExports();
  return { ...owner, watchOwner };
}

const { describeOwner, isSameProcess, ownerState, pidNotReused, watchOwner } =
  await loadWithoutProc();

afterAll(() => void vi.resetModules());

/** A `ps` that counts its calls, where it's found first. @returns the count */
function countPs(): () => number {
  const folder = createProject({ ps: '#!/bin/sh\necho >>"$0.calls"\nexec /bin/ps "$@"\n' });
  const path = join(folder, "ps");
  chmodSync(path, 0o755);
  vi.stubEnv("PATH", [folder, process.env.PATH].join(delimiter));
  onTestFinished(() => void vi.unstubAllEnvs());
  const calls = `${path}.calls`;
  return () => (existsSync(calls) ? readFileSync(calls, "utf8").length : 0);
}

test("an owner that renews its lease is looked up once, and a silent one every 30 s", async () => {
  const calls = countPs();
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const directory = createProject();
  const sleeper = spawnProcess("sleep", ["60"]);
  const owner = describeOwner(sleeper.pid);
  const look = watchOwner(directory);
  const lookFor = (ms: number, renew: boolean) => {
    for (const end = now + ms; now < end; now += 1000) {
      if (renew || now === 0) {
        const renewal = Math.floor(now / RENEWAL_MS);
        writeFileSync(join(directory, "lease.json"), JSON.stringify({ owner, renewal }));
      }
      expect(look().lease).toBe("held");
    }
  };
  lookFor(120_000, true);
  expect(calls()).toBe(1);
  now += 3_600_000;
  expect(look().lease, "after a sleep it can renew its lease first").toBe("held");
  expect(calls()).toBe(1);
  lookFor(120_000, false);
  expect(calls()).toBe(5);
  await sleeper.kill();
  expect(look().lease).toBe("gone");
});

test("a process that reuses a pid is not the owner, and one that began earlier is", () => {
  // `ps` prints local times.
  vi.stubEnv("TZ", "Asia/Tokyo");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { pid } = spawnProcess("sleep", ["60"]);
  const owner = describeOwner(pid);
  const startTime = (shiftMs: number) => String(Number(owner.startTime) + shiftMs);
  const states = [0, -60_000, 60_000].map((ms) => {
    const shifted = { ...owner, startTime: startTime(ms) };
    return [ownerState(shifted), pidNotReused(shifted), isSameProcess(owner, shifted)];
  });
  expect(states).toEqual([
    ["alive", true, true],
    ["gone", false, false],
    ["alive", true, false],
  ]);
  expect(ownerState(describeOwner())).toBe("alive");
});

test("a Mac whose name changes with the network is the same until it starts again", async () => {
  const mac = await loadWithoutProc("A");
  const owner = mac.describeOwner(spawnProcess("sleep", ["60"]).pid);
  expect(owner.bootId).toBe("A");
  const states = [{}, { host: "b" }, { bootId: "B" }, { host: "b", bootId: "B" }].map((other) =>
    mac.ownerState({ ...owner, ...other }),
  );
  expect(states).toEqual(["alive", "alive", "alive", "unknown"]);
});

test.each([
  ["has the start time of the owner", "date -u '+R %Y-%m-%d %H:%M:%SZ'", "alive"],
  ["started later", "date -u -d '+1 hour' '+R %Y-%m-%d %H:%M:%SZ'", "gone"],
  ["is another user's", "exit 1", "unknown"],
])("on Windows, PowerShell says that a process %s", (_, powershell, state) => {
  simulateWindows({ "WindowsPowerShell/v1.0/powershell.exe": powershell });
  expect(ownerState(describeOwner(spawnProcess("sleep", ["60"]).pid))).toBe(state);
});
