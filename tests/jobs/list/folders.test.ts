import fs, { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { createJobFolders } from "../../../jobs/list/folders.ts";
import { createProject } from "../../project.ts";

const readdir = vi.spyOn(fs, "readdirSync");
syncBuiltinESMExports();
afterAll(() => {
  readdir.mockRestore();
  syncBuiltinESMExports();
});

function idOf(n: number): string {
  return `20260101-000000-${String(n).padStart(3, "0")}-aaaa`;
}

/** The folder of all jobs, and a reader whose clock we turn. */
function createFolders() {
  const root = join(createProject(), "jobs");
  mkdirSync(root);
  let now = 0;
  const readIds = createJobFolders(root, () => now);
  return {
    root,
    readIds,
    /** The numbers of the jobs, and how often their folder was read. */
    read: () => {
      readdir.mockClear();
      const numbers = readIds().map((id) => Number(id.split("-")[2]));
      return [numbers, readdir.mock.calls.length];
    },
    pass: (ms: number) => void (now += ms),
    make: (...numbers: number[]) => numbers.forEach((n) => mkdirSync(join(root, idOf(n)))),
    remove: (n: number) => rmSync(join(root, idOf(n)), { recursive: true }),
  };
}

test("the folder is reread until its time can be relied on, and every ten seconds", () => {
  const { read, pass, make, remove } = createFolders();
  expect(read()).toEqual([[], 1]);
  make(1);
  expect(read()).toEqual([[1], 1]);
  expect(read()).toEqual([[1], 1]);
  pass(2_001);
  expect(read()).toEqual([[1], 1]);
  expect(read()).toEqual([[1], 0]);
  make(2);
  expect(read()).toEqual([[2, 1], 1]);
  remove(2);
  expect(read()).toEqual([[1], 1]);
  pass(2_001);
  read();
  expect(read()).toEqual([[1], 0]);
  pass(10_000);
  expect(read()).toEqual([[1], 1]);
});

test("the array stays the same as long as the jobs do", () => {
  const { root, readIds, make } = createFolders();
  make(1, 2);
  const ids = readIds();
  mkdirSync(join(root, "no job"));
  expect(readIds()).toBe(ids);
  make(3);
  expect(readIds()).not.toBe(ids);
});

test("a folder that is deleted, made again or replaced is reread", () => {
  const { root, read, pass, make } = createFolders();
  const settle = () => {
    pass(2_001);
    read();
  };
  make(1);
  read();
  settle();
  rmSync(root, { recursive: true });
  expect(read()).toEqual([[], 1]);
  settle();
  expect(read()).toEqual([[], 0]);
  mkdirSync(root);
  make(2);
  expect(read()).toEqual([[2], 1]);
  settle();
  renameSync(root, `${root}-before`);
  mkdirSync(root);
  make(4, 5);
  expect(read()).toEqual([[5, 4], 1]);
});

test("a link in the folder's place is refused, again and again", () => {
  const { root, readIds, pass } = createFolders();
  readIds();
  pass(2_001);
  readIds();
  renameSync(root, `${root}-elsewhere`);
  symlinkSync(`${root}-elsewhere`, root);
  for (let n = 0; n < 3; n++) {
    expect(readIds).toThrow(/symbolic link/);
    pass(2_001);
  }
});
