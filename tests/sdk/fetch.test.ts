import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Artifact, type TrainerOptions, loadModel } from "kit";
import { describe, expect, it } from "vitest";
import { bestStep, copyCheckpoint } from "../../sdk/job/continueFrom.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { CONFIG } from "../jobs.ts";
import { createProject } from "../project.ts";
import { createRemoteEngine, openRemote } from "../remoteEngine.ts";
import { createTinyTrainer, enterProject } from "./project.ts";

/** Trains on other machines, which keep the checkpoints. */
async function train(options: Partial<TrainerOptions> = {}) {
  const project = enterProject();
  const folder = createProject();
  const there = openRemote(folder);
  there.keep();
  there.train(4);
  const engine = createRemoteEngine(folder);
  const trainer = createTinyTrainer({ engine, saveSteps: 1, ...options });
  const { job, artifacts } = await trainer.wait();
  const directory = join(project, ".kit/jobs", job.id);
  return { there, engine, directory, artifacts };
}

const foldersOf = (directory: string) => readdirSync(join(directory, "artifacts")).toSorted();

describe("an artifact that other machines keep", () => {
  it("is a job's result, and comes when it is fetched", async () => {
    const { directory, artifacts } = await train();
    const result = join(directory, "artifacts/step-4");
    expect(findArtifact(directory)).toBe(result);
    const last = artifacts.at(-1) as Artifact;
    expect([last.directory, existsSync(result)]).toEqual([result, false]);
    const seen: unknown[] = [];
    await last.fetch({ onProgress: (progress) => seen.push(progress) });
    expect(seen).toEqual([{ bytes: 2, totalBytes: 2 }]);
    expect(readdirSync(result)).toEqual(["config.json"]);
    await last.fetch();
    expect(seen).toHaveLength(1);
  });

  it("is counted and removed by saveTotalLimit, and then says that it was deleted", async () => {
    let first: Artifact | undefined;
    const onCheckpoint: NonNullable<TrainerOptions["callbacks"]>["onCheckpoint"] = async (at) => {
      first ??= at.artifacts[0];
      if (at.step === 3) await at.artifacts.at(-1)?.fetch();
    };
    // Of four, the best and the newest are left.
    const { directory } = await train({ saveTotalLimit: 2, callbacks: { onCheckpoint } });
    expect(foldersOf(directory)).toEqual(["step-2.stored.json", "step-4.stored.json"]);
    await expect(first?.fetch()).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: `${first?.directory} was deleted. Use another checkpoint.`,
    });
  });

  it("is the best at the end without being here", async () => {
    const { artifacts, directory } = await train({
      ...{ evalSplit: 0.5, evalSteps: 1, loadBestModelAtEnd: true },
    });
    expect(artifacts.at(-1)).toMatchObject({ step: 2, best: true });
    expect(findArtifact(directory)).toBe(join(directory, "artifacts/step-2"));
  });

  it("is taken over as the best by a job that goes on, without being here", async () => {
    const { directory } = await train();
    const from = { jobId: "1", directory, step: 4, checkpoint: "" };
    const to = createProject();
    const measured = { event: "training.log", data: { step: 2, evalLoss: 1 } } as const;
    const step = bestStep(from, CONFIG, [measured], () => {});
    const best = step === undefined ? undefined : copyCheckpoint(from, step, to);
    expect(best).toEqual({ step: 2, path: "artifacts/step-2" });
    expect(foldersOf(to)).toEqual(["step-2.stored.json"]);
  });

  it("needs the engine that keeps it", async () => {
    const { directory } = await train();
    await expect(loadModel(directory)).rejects.toMatchObject({
      code: "CHECKPOINT_INVALID",
      message: `The files of ${join(directory, "artifacts/step-4")} are on the far cluster, not here. To fetch them, set the engine of the project's trainer back to remote, or pass it to loadModel.`,
    });
  });
});
