import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobEvent } from "../../protocol/event.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { createJob } from "../jobs.ts";
import { createProject } from "../project.ts";

/** The folder of a job with these events and three artifacts. */
function createJobWith(events: JobEvent[]): string {
  const { directory } = createJob(createProject(), "job", events);
  for (const step of [2, 4, 10]) {
    mkdirSync(join(directory, `artifacts/step-${step}`), { recursive: true });
  }
  return directory;
}

const artifact = (step: number) => ({
  step,
  kind: "model" as const,
  path: `artifacts/step-${step}`,
});

test("a completed job stands for its result, the last in its list, which need not be the newest", () => {
  const artifacts = [artifact(2), artifact(10), artifact(4)];
  const directory = createJobWith([{ event: "training.completed", data: { artifacts } }]);
  expect(findArtifact(directory)).toBe(join(directory, "artifacts/step-4"));
  rmSync(join(directory, "artifacts/step-4"), { recursive: true });
  expect(() => findArtifact(directory)).toThrow("artifacts/step-4 was deleted. Load another");
});

test("any other job stands for its newest checkpoint", () => {
  const directory = createJobWith([{ event: "training.cancelled", data: { step: 10 } }]);
  expect(findArtifact(directory)).toBe(join(directory, "artifacts/step-10"));
});
