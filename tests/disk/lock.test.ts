import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeLock } from "../../disk/lock.ts";
import { describeOwner } from "../../disk/owner.ts";

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

test("one holds it; the next has it when it is given back", async () => {
  const release = await takeLock(path, 0);
  expect(release).toBeDefined();
  expect(await takeLock(path, 0)).toBeUndefined();
  const next = takeLock(path, 60_000);
  release?.();
  (await next)?.();
  expect(readdirSync(folder)).toEqual([]);
});

test("only one of many gets it, even after a dead holder", async () => {
  leaveLockOf(DEAD);
  const taken = await Promise.all(Array.from({ length: 20 }, () => takeLock(path, 0)));
  expect(taken.filter(Boolean)).toHaveLength(1);
});

test("a dead holder's is taken over, each time", async () => {
  for (const startTime of ["1", "2", "3"]) {
    leaveLockOf({ ...DEAD, startTime });
    const release = await takeLock(path, 0);
    expect(release).toBeDefined();
    release?.();
  }
});

test("nothing is left of a lock that was taken over", async () => {
  leaveLockOf(DEAD);
  (await takeLock(path, 0))?.();
  expect(readdirSync(folder)).toEqual([]);
});

test("a torn lock, as a crash of the machine leaves it, counts for a minute at most", async () => {
  mkdirSync(path);
  writeFileSync(join(path, "owner.json"), "");
  expect(await takeLock(path, 0)).toBeUndefined();
  const aMinuteAgo = Date.now() / 1000 - 60;
  utimesSync(path, aMinuteAgo, aMinuteAgo);
  expect(await takeLock(path, 0)).toBeDefined();
});

test("a file in the lock's place fails, and leaves nothing behind", async () => {
  writeFileSync(path, "");
  await expect(takeLock(path, 0)).rejects.toThrow(/ENOTDIR/);
  expect(readdirSync(folder)).toEqual(["launch.lock"]);
});

test("a holder in another container counts for a minute at most", async () => {
  leaveLockOf({ ...describeOwner(), pidNamespace: "pid:[1]" });
  expect(await takeLock(path, 0)).toBeUndefined();
  const aMinuteAgo = Date.now() / 1000 - 60;
  utimesSync(path, aMinuteAgo, aMinuteAgo);
  expect(await takeLock(path, 0)).toBeDefined();
});

test("a missing folder fails", async () => {
  await expect(takeLock(join(folder, "none", "launch.lock"), 0)).rejects.toThrow(/ENOENT/);
});
