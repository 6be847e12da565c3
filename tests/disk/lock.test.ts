import fs, {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { readRecord } from "../../disk/json.ts";
import { LOCK_SILENCE_MS, takeLock } from "../../disk/lock.ts";
import { describeOwner } from "../../disk/owner.ts";
import { holdInContainer } from "../foreignLock.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kit-lock-"));
  path = join(folder, "launch.lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function leaveLockOf(owner: object): void {
  mkdirSync(path);
  writeFileSync(join(path, "owner.json"), JSON.stringify(owner));
}

const DEAD = { ...describeOwner(), startTime: "1" };
const OTHER_CONTAINER = { ...describeOwner(), pidNamespace: "pid:[1]" };
const HOUR_S = 3600;

/** A clock for whoever looks: a pause takes no time, and the clock goes on by as much. */
function createClock(onPause: (passedMs: number) => void = () => {}) {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let passedMs = 0;
  return {
    passedMs: () => passedMs,
    pause: async (ms: number): Promise<void> => {
      vi.advanceTimersByTime(ms);
      onPause((passedMs += ms));
      await Promise.resolve();
    },
  };
}

/** As a holder renews its lock, on a machine whose clock is off by so much. */
function renewAt(seconds: number): void {
  utimesSync(join(path, "owner.json"), seconds, seconds);
}

test("one holds it; the next has it when it is given back", async () => {
  const lock = await takeLock(path, 0);
  expect(lock?.isHeld()).toBe(true);
  expect(await takeLock(path, 0)).toBeUndefined();
  const next = takeLock(path, 60_000);
  lock?.release();
  (await next)?.release();
  expect(readdirSync(folder)).toEqual([]);
});

test("only one of many gets it, even after a dead holder", async () => {
  leaveLockOf(DEAD);
  const taken = await Promise.all(Array.from({ length: 20 }, () => takeLock(path, 0)));
  expect(taken.filter(Boolean)).toHaveLength(1);
});

test("a dead holder's is taken over at once, each time", async () => {
  for (const startTime of ["1", "2", "3"]) {
    leaveLockOf({ ...DEAD, startTime });
    const lock = await takeLock(path, 0);
    expect(lock).toBeDefined();
    lock?.release();
  }
});

test("a dead holder's is held while a process lives that it was lent to", async () => {
  leaveLockOf({ ...DEAD, borrower: describeOwner() });
  expect(await takeLock(path, 0)).toBeUndefined();
  rmSync(path, { recursive: true });
  leaveLockOf({ ...DEAD, borrower: DEAD });
  (await takeLock(path, 0))?.shareWith(process.pid);
  expect(readRecord(join(path, "owner.json"))?.borrower).toEqual(describeOwner());
});

test("nothing is left of a lock that was taken over", async () => {
  leaveLockOf(DEAD);
  (await takeLock(path, 0))?.release();
  expect(readdirSync(folder)).toEqual([]);
});

test.each(["torn lock, as a crash of the machine leaves it,", "lock of another container"])(
  "a %s is taken over when it stood still for 30 s, whatever its file's time",
  async (kind) => {
    for (const offS of [0, -HOUR_S, HOUR_S]) {
      leaveLockOf(OTHER_CONTAINER);
      if (kind.startsWith("torn lock")) writeFileSync(join(path, "owner.json"), "");
      renewAt(Date.now() / 1000 + offS);
      const { pause, passedMs } = createClock();
      const onWait = vi.fn();
      const lock = await takeLock(path, 0, { pause, onWait });
      expect(lock?.isHeld()).toBe(true);
      expect(passedMs()).toBeGreaterThan(LOCK_SILENCE_MS);
      expect(passedMs()).toBeLessThan(LOCK_SILENCE_MS + 1_000);
      expect(onWait).toHaveBeenCalledOnce();
      lock?.release();
      expect(readdirSync(folder)).toEqual([]);
    }
  },
);

test("a holder on a machine whose clock is an hour off keeps its lock for as long as it renews it", async () => {
  leaveLockOf(OTHER_CONTAINER);
  renewAt(Date.now() / 1000 - HOUR_S);
  const { pause, passedMs } = createClock((passed) => {
    if (passed % 2_000 === 0 && passed <= 100_000) renewAt(Date.now() / 1000 - HOUR_S + passed);
  });
  const lock = await takeLock(path, Infinity, { pause });
  expect(passedMs()).toBeGreaterThan(100_000 + LOCK_SILENCE_MS);
  lock?.release();
});

test("a holder that wakes in the moment of the takeover keeps its lock", async () => {
  leaveLockOf(OTHER_CONTAINER);
  const { renameSync } = fs;
  function putBack(): void {
    Object.assign(fs, { renameSync });
    syncBuiltinESMExports();
  }
  onTestFinished(putBack);
  const rename: typeof renameSync = (from, to) => {
    if (from === path) {
      putBack();
      renewAt(Date.now() / 1000 + 1);
    }
    renameSync(from, to);
  };
  Object.assign(fs, { renameSync: rename });
  syncBuiltinESMExports();
  const { pause } = createClock();
  expect(await takeLock(path, 0, { pause })).toBeUndefined();
  expect(readdirSync(folder)).toEqual(["launch.lock"]);
  expect(readdirSync(path)).toEqual(["owner.json"]);
});

test("a living holder in another container keeps its lock, however old its file looks", async () => {
  const holder = await holdInContainer(path);
  const old = Date.now() / 1000 - 60;
  utimesSync(path, old, old);
  renewAt(old);
  expect(await takeLock(path, 0)).toBeUndefined();
  await holder.kill();
  const { pause } = createClock();
  expect(await takeLock(path, 0, { pause })).toBeDefined();
});

test("a holder that was suspended while its lock was taken over learns it, and leaves the new one alone", async () => {
  const holder = await holdInContainer(path);
  holder.suspend();
  const { pause } = createClock();
  const lock = await takeLock(path, 0, { pause });
  expect(lock?.isHeld()).toBe(true);
  holder.resume();
  expect(await holder.ask("isHeld")).toBe("false");
  expect(await holder.ask("release")).toBe("released");
  expect(lock?.isHeld()).toBe(true);
  expect(existsSync(path)).toBe(true);
  lock?.release();
  expect(readdirSync(folder)).toEqual([]);
});

test("a file in the lock's place fails, and leaves nothing behind", async () => {
  writeFileSync(path, "");
  await expect(takeLock(path, 0)).rejects.toThrow(/ENOTDIR/);
  expect(readdirSync(folder)).toEqual(["launch.lock"]);
});

test("a missing folder fails", async () => {
  await expect(takeLock(join(folder, "none", "launch.lock"), 0)).rejects.toThrow(/ENOENT/);
});

test("waiting ends with the signal's reason", async () => {
  const lock = await takeLock(path, 0);
  const abort = new AbortController();
  const waiting = takeLock(path, Infinity, { signal: abort.signal });
  abort.abort();
  await expect(waiting).rejects.toThrow("aborted");
  lock?.release();
});
