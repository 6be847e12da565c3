import { mkdirSync, readdirSync, rmSync, rmdirSync, watch } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createJobFolders } from "../../../jobs/list/folders.ts";
import { isWatched } from "../../process.ts";
import { createProject } from "../../project.ts";

vi.mock("node:fs", { spy: true });

const NOTHING = { came: [], went: [] };
const MOST_TOLD = 100;

function idOf(n: number): string {
  return `20260101-000000-${String(n).padStart(3, "0")}-aaaa`;
}

/** The folder of all jobs, and a reader whose clock we turn. */
function createFolders(watching: boolean) {
  const root = join(createProject(), "jobs");
  mkdirSync(root);
  let now = 0;
  const folders = createJobFolders(root, watching, () => now);
  onTestFinished(folders.close);
  const look = () => {
    vi.mocked(readdirSync).mockClear();
    return { ...folders.look(), reads: vi.mocked(readdirSync).mock.calls.length };
  };
  return {
    root,
    folders,
    look,
    pass: (ms: number) => void (now += ms),
    make: (...numbers: number[]) => numbers.forEach((n) => mkdirSync(join(root, idOf(n)))),
    remove: (n: number) => rmSync(join(root, idOf(n)), { recursive: true }),
  };
}

let marks = 900;

/** Resolves when the system has told all of what a change did to a folder, to whoever watches. */
async function told(root: string, change: () => unknown): Promise<void> {
  const mark = idOf(marks++);
  const isTold = new Promise<void>((resolve) => {
    const watcher = watch(root, (_, name) => {
      if (name !== mark) return;
      watcher.close();
      resolve();
    });
  });
  change();
  // A folder that comes and goes changes nothing.
  mkdirSync(join(root, mark));
  rmdirSync(join(root, mark));
  await isTold;
}

test("without being told, the folder is read again until its time can be relied on, and now and then", () => {
  const { look, pass, make, remove } = createFolders(false);
  expect(look()).toEqual({ ...NOTHING, reads: 1 });
  make(1);
  expect(look()).toEqual({ came: [idOf(1)], went: [], reads: 1 });
  expect(look()).toEqual({ ...NOTHING, reads: 1 });
  pass(2_001);
  expect(look()).toEqual({ ...NOTHING, reads: 1 });
  expect(look()).toEqual({ ...NOTHING, reads: 0 });
  make(2);
  expect(look()).toEqual({ came: [idOf(2)], went: [], reads: 1 });
  remove(2);
  expect(look()).toEqual({ came: [], went: [idOf(2)], reads: 1 });
  pass(2_001);
  look();
  expect(look()).toEqual({ ...NOTHING, reads: 0 });
  pass(10_000);
  expect(look()).toEqual({ ...NOTHING, reads: 1 });
});

test("what the system tells takes no reading, but one when the time can be relied on, and now and then", async () => {
  const { root, look, pass, make, remove } = createFolders(true);
  make(1, 2);
  expect(look()).toEqual({ came: [idOf(2), idOf(1)], went: [], reads: 1 });
  await told(root, () => make(3, 4));
  expect(look()).toEqual({ came: [idOf(4), idOf(3)], went: [], reads: 0 });
  await told(root, () => remove(1));
  expect(look()).toEqual({ came: [], went: [idOf(1)], reads: 0 });
  pass(2_000);
  expect(look()).toEqual({ ...NOTHING, reads: 0 });
  pass(1);
  expect(look()).toEqual({ ...NOTHING, reads: 1 });
  expect(look()).toEqual({ ...NOTHING, reads: 0 });
  for (let n = 10; n < 16; n++) {
    pass(1_700);
    await told(root, () => make(n));
    expect(look()).toEqual({ came: [idOf(n)], went: [], reads: n === 15 ? 1 : 0 });
  }
});

test("a job that is told late, twice or for nothing is seen once", async () => {
  const { root, look, make, remove } = createFolders(true);
  look();
  make(1);
  // Before this process could be told.
  expect(look()).toEqual({ came: [idOf(1)], went: [], reads: 1 });
  await told(root, () => (make(2), remove(2), make(2)));
  expect(look()).toMatchObject({ came: [idOf(2)], went: [] });
  await told(root, () => (remove(2), make(2)));
  expect(look()).toMatchObject(NOTHING);
});

test("where the system tells of less than the folder's count says, all is read", async () => {
  const { root, look, make } = createFolders(true);
  look();
  await told(root, () => make(1));
  make(2);
  expect(look()).toEqual({ came: [idOf(2), idOf(1)], went: [], reads: 1 });
});

test("of more than helps, and of what is no job, all is read", async () => {
  const { root, look, make } = createFolders(true);
  look();
  const many = Array.from({ length: MOST_TOLD + 1 }, (_, n) => n);
  await told(root, () => make(...many));
  expect(look()).toEqual({ came: many.map(idOf).reverse(), went: [], reads: 1 });
  await told(root, () => mkdirSync(join(root, "no job")));
  expect(look()).toEqual({ ...NOTHING, reads: 1 });
});

test("a folder that is deleted, made again or replaced is watched anew", async () => {
  const { root, folders, look, make } = createFolders(true);
  make(1);
  look();
  rmSync(root, { recursive: true });
  expect(look()).toEqual({ came: [], went: [idOf(1)], reads: 0 });
  expect(look()).toEqual({ ...NOTHING, reads: 0 });
  mkdirSync(root);
  make(2);
  expect(look()).toEqual({ came: [idOf(2)], went: [], reads: 1 });
  await told(root, () => make(3));
  expect(look()).toEqual({ came: [idOf(3)], went: [], reads: 0 });
  await rename(root, `${root}-before`);
  mkdirSync(root);
  make(4, 5);
  expect(look()).toEqual({ came: [idOf(5), idOf(4)], went: expect.any(Array), reads: 1 });
  expect([2, 3, 4, 5].map((n) => folders.has(idOf(n)))).toEqual([false, false, true, true]);
  await told(root, () => make(6));
  expect(look()).toEqual({ came: [idOf(6)], went: [], reads: 0 });
});

test("the folder is watched where that is wanted only, and until it is closed", () => {
  const { root, folders, look } = createFolders(true);
  look();
  expect(isWatched(root)).toBe(true);
  folders.close();
  folders.close();
  expect(isWatched(root)).toBe(false);
  const other = createFolders(false);
  other.look();
  expect(isWatched(other.root)).toBe(false);
});
