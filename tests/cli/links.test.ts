import { readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDirectory } from "../../engines/checkpoint/directory.ts";
import { writeStoredRecord } from "../../engines/ray/storedRecord.ts";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyProject, runKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";

const NOT_FOLLOWED = "is a symbolic link, which Kit does not follow";

/** Fails after its first checkpoint, until it is told to go on. */
const FAILING = `callbacks: { onCheckpoint() { if (!process.env.GO) throw new Error("stop"); } },`;

/** All files under a folder. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true }).map(String).toSorted();
}

test("no job's checkpoint is read or copied through a link: its resume, answers and export are refused", async () => {
  const project = createTinyProject(tinySource({ options: FAILING }));
  await runKit(project, ["start"]);
  const [{ id = "" } = {}] = createJobStore(project).list();
  const outside = createProject();
  const there = join(outside, "there");
  for (const place of ["artifacts", "artifacts/step-2", "artifacts/step-2/trainer_state.json"]) {
    const path = join(project, ".kit/jobs", id, place);
    renameSync(path, there);
    symlinkSync(there, path);
    const before = filesOf(outside);
    for (const args of [
      ["start", "--resume"],
      ["infer", id, "hi"],
      ["export", id],
    ]) {
      const { code, stderr } = await runKit(project, args, { GO: "1" });
      expect([code, stderr], args.join(" ")).toEqual([
        1,
        expect.stringContaining(`${path} ${NOT_FOLLOWED}`),
      ]);
    }
    expect(filesOf(outside)).toEqual(before);
    expect(createJobStore(project).list()).toHaveLength(1);
    rmSync(path);
    renameSync(there, path);
  }
  const { code, stdout } = await runKit(project, ["start", "--resume"], { GO: "1" });
  // 4 if the training was faster than its callback.
  expect([code, stdout]).toEqual([0, expect.stringMatching(/after step [24]/)]);
});

test("a checkpoint and its record are written through no link that takes the artifacts' place", () => {
  const [job, outside] = [createProject(), createProject({ file: "theirs" })];
  const artifacts = join(job, "artifacts");
  symlinkSync(outside, artifacts);
  const step = join(artifacts, "step-1");
  const record = { address: "ray", path: "/there", files: {} };
  expect(() => writeDirectory(step, { "config.json": "{}" })).toThrow(NOT_FOLLOWED);
  expect(() => writeStoredRecord(step, record)).toThrow(NOT_FOLLOWED);
  expect(filesOf(outside)).toEqual(["file"]);

  rmSync(artifacts);
  writeDirectory(step, { "config.json": "{}" });
  symlinkSync(join(outside, "file"), join(artifacts, ".step-1.stored.json.partial"));
  symlinkSync(join(outside, "file"), join(artifacts, "step-1.stored.json"));
  writeStoredRecord(step, record);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("theirs");
});
