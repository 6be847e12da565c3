import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFolder, pack } from "./packed.ts";
import { type Row, walk } from "./walk.ts";

const NEWEST = "node@26";
const names = (process.env.KIT_WALK ?? NEWEST).split(" ");
const steps = Number(process.env.KIT_WALK_STEPS ?? 2);
const WALK_LIMIT_MS = 900_000;

const rows: Record<string, Row> = {};
let folder = "";
let tarball = "";

beforeAll(async () => {
  folder = createFolder();
  tarball = join(folder, (await pack(folder)).filename);
});

afterAll(() => {
  console.table(rows);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

test.each(names)(
  "leads from the packed package in an empty folder to a trained model: %s",
  async (name) => {
    const own = join(folder, name);
    mkdirSync(own);
    rows[name] = await walk(name, { folder: own, tarball, steps });
    expect(rows[name]?.training).toBeGreaterThan(0);
  },
  WALK_LIMIT_MS,
);
