import { basename } from "node:path";
import { expect, test } from "vitest";
import { COMPLETED, STARTED, createJob, logged } from "../jobs.ts";
import { createProject } from "../project.ts";
import { watchDisk } from "../watchDisk.ts";

test("after a checkpoint and at its end, the disk has all that a job needs to be found and resumed", () => {
  const { append, directory } = createJob(createProject(), "synced", [STARTED]);
  const seen: string[] = [];
  watchDisk(seen);
  const ALL = ["events.ndjson", "job.json", basename(directory), "jobs"].map(
    (name) => `sync ${name}`,
  );
  append(logged(1));
  expect(seen).toEqual([]);
  append({
    event: "checkpoint.saved",
    data: { step: 1, kind: "model", path: "artifacts/step-1" },
  });
  expect(seen.splice(0)).toEqual(ALL);
  append(COMPLETED);
  expect(seen).toEqual(ALL);
});

test("before a job goes on elsewhere, the disk has what it takes to find it there", () => {
  const { recordRemote, directory } = createJob(createProject(), "synced", [STARTED]);
  const seen: string[] = [];
  watchDisk(seen);
  recordRemote({ where: "far", address: "far", checkpoints: "far" });
  const temporary = /placement\.json\.\w+\.tmp/;
  // Node syncs a file by a function of its own, or by this one.
  expect(seen.filter((call) => !call.startsWith("sync placement"))).toEqual([
    expect.stringMatching(new RegExp(`^write ${temporary.source} and sync$`)),
    expect.stringMatching(new RegExp(`^rename ${temporary.source} to placement.json$`)),
    ...["events.ndjson", "job.json", basename(directory), "jobs"].map((name) => `sync ${name}`),
  ]);
});
