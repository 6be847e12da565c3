import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checksumOf, damagedFile } from "../../disk/checksums.ts";
import { createProject } from "../project.ts";

test("what macOS leaves beside a checkpoint's files damages nothing; a file of another does", () => {
  const folder = createProject({
    "model.safetensors": "weights",
    "checksums.json": JSON.stringify({ "model.safetensors": checksumOf(["weights"]) }),
    "._model.safetensors": "attributes",
    ".DS_Store": "",
    "optimizer.safetensors": "another's",
  });
  expect(damagedFile(folder)).toBe(join(folder, "optimizer.safetensors"));
  rmSync(join(folder, "optimizer.safetensors"));
  expect(damagedFile(folder)).toBeUndefined();
});
