import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Engine, Trainer, TrainerOptions } from "kit";
import { describe, expect, it } from "vitest";
import { stepOfEntry } from "../../protocol/artifactPath.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createSeparateEngine } from "../engines/separate/engine.ts";
import { useWindowsDisk } from "../windowsDisk.ts";
import { createTinyTrainer, enterProject, readEvents } from "./project.ts";

/** Says that its steps have these evalLosses, saves each `saveSteps`, and never waits or listens. */
function sayingEngine(evalLosses: (number | null | undefined)[]): Engine {
  return {
    ...createSeparateEngine(),
    async train({ config, directory, resumeFrom, onEvent }) {
      const done = resumeFrom === undefined ? 0 : (stepOfEntry(basename(resumeFrom)) ?? 0);
      const maxSteps = evalLosses.length;
      const data = { model: "m", parameters: 1, rows: 1, maxSteps };
      onEvent({ event: "training.started", data });
      evalLosses.forEach((evalLoss, i) => {
        const step = i + 1;
        if (step <= done) return;
        onEvent({ event: "training.log", data: { step, loss: 1, evalLoss } });
        if (step < maxSteps && step % config.saveSteps !== 0) return;
        const path = `artifacts/step-${step}`;
        mkdirSync(join(directory, path), { recursive: true });
        writeFileSync(join(directory, path, "config.json"), "{}");
        onEvent({ event: "checkpoint.saved", data: { step, kind: "model", path } });
      });
      await Promise.resolve();
    },
  };
}

const EVALUATED = { evalSplit: 0.5, evalSteps: 1, saveSteps: 1 } as const;
const BEST = { ...EVALUATED, loadBestModelAtEnd: true } as const;

type EvalLosses = (number | null | undefined)[];

/** Trains to the end, in a project of its own; what is left of it. */
async function train(evalLosses: EvalLosses, options: Partial<TrainerOptions> = {}) {
  enterProject();
  return finish(createTinyTrainer({ engine: sayingEngine(evalLosses), ...EVALUATED, ...options }));
}

/** Goes on with the last job of the current project. */
async function resume(evalLosses: EvalLosses, options: Partial<TrainerOptions>) {
  const engine = sayingEngine(evalLosses);
  const trainer = createTinyTrainer({ engine, ...EVALUATED, ...options }) as DrivenTrainer;
  trainer[DRIVER].resume();
  return finish(trainer);
}

/** Leaves a job as one that was killed after so many events. */
function cutLog(directory: string, events: number): void {
  const path = join(directory, "events.ndjson");
  const kept = readFileSync(path, "utf8").split("\n").slice(0, events);
  writeFileSync(path, kept.map((line) => `${line}\n`).join(""));
  const saved = kept.filter((line) => line.includes("checkpoint.saved")).length;
  for (const folder of foldersOf(directory).slice(saved)) {
    rmSync(join(directory, "artifacts", folder), { recursive: true });
  }
}

async function finish(trainer: Trainer) {
  const project = process.cwd();
  const { jobId } = await trainer.start();
  const directory = join(project, ".kit/jobs", jobId);
  const { artifacts } = await trainer.wait();
  const log = readEvents(project, jobId);
  return {
    directory,
    log,
    end: log.at(-1),
    /** The step of each artifact, negative for the best. */
    kept: artifacts.map(({ step, best }) => (best ? -step : step)),
    folders: foldersOf(directory),
  };
}

function foldersOf(directory: string): string[] {
  return readdirSync(join(directory, "artifacts")).toSorted();
}

describe("saveTotalLimit", () => {
  it("keeps the newest checkpoints, and counts what is there", async () => {
    const { kept, folders, end } = await train(
      [1, 2, 3, 4, 5].map(() => undefined),
      {
        saveTotalLimit: 2,
      },
    );
    expect([kept, folders]).toEqual([
      [4, 5],
      ["step-4", "step-5"],
    ]);
    expect(end).toMatchObject({ event: "training.completed", data: { artifacts: [{}, {}] } });
  });

  it("keeps the checkpoints that a callback is given until it has returned", async () => {
    const seen: unknown[] = [];
    const { folders } = await train(
      [1, 2, 3, 4].map(() => undefined),
      {
        saveTotalLimit: 1,
        callbacks: {
          async onCheckpoint({ artifacts }) {
            // Meanwhile the training has saved all the others.
            await new Promise(setImmediate);
            seen.push(artifacts.map(({ step }) => step));
            for (const { directory } of artifacts) {
              expect(existsSync(join(directory, "config.json")), directory).toBe(true);
            }
          },
        },
      },
    );
    expect(seen).toEqual([[1], [2], [3], [4]]);
    expect(folders).toEqual(["step-4"]);
  });

  it("leaves one that another process reads, where Windows keeps it, until the next save", async () => {
    useWindowsDisk();
    let reader = 0;
    const { folders, end } = await train([5, 4, 3, 2, 1], {
      saveTotalLimit: 1,
      callbacks: {
        onCheckpoint({ step, artifacts }) {
          if (step === 1) reader = openSync(join(artifacts[0]!.directory, "config.json"), "r");
          if (step === 4) closeSync(reader);
        },
      },
    });
    expect([folders, end?.event]).toEqual([["step-5"], "training.completed"]);
  });

  it("names the newest and the best of very many in a record that stays short", async () => {
    const losses = Array.from({ length: 1_200 }, (_, i) => (i === 2 ? 1 : 2));
    const { directory, end, kept } = await train(losses);
    const { artifacts, omitted } = end?.data as { artifacts: { step: number }[]; omitted: number };
    expect([kept.length, artifacts.length, omitted]).toEqual([1_200, 501, 699]);
    expect([artifacts[0], artifacts[1]?.step]).toEqual([
      { step: 3, kind: "model", path: "artifacts/step-3", best: true },
      701,
    ]);
    const lines = readFileSync(join(directory, "events.ndjson"), "utf8").split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(64 * 1024);
  });

  it("never removes the best, which counts among them", async () => {
    const two = await train([5, 1, 4, 3, 2], { saveTotalLimit: 2 });
    expect([two.kept, two.folders]).toEqual([
      [-2, 5],
      ["step-2", "step-5"],
    ]);
    const one = await train([5, 1, 4, 3, 2], { saveTotalLimit: 1 });
    expect(one.folders).toEqual(["step-2", "step-5"]);
  });
});

describe("loadBestModelAtEnd", () => {
  it("makes the best the last artifact, which says so, and the job's result", async () => {
    const { kept, end, directory } = await train([5, 1, 1, 3], BEST);
    expect(kept).toEqual([1, 3, 4, -2]);
    const last = { step: 2, kind: "model", path: "artifacts/step-2", best: true };
    expect((end?.data["artifacts"] as unknown[]).at(-1)).toEqual(last);
    expect(findArtifact(directory)).toBe(join(directory, "artifacts/step-2"));
    const plain = await train([5, 1, 1, 3]);
    expect(plain.kept).toEqual([1, -2, 3, 4]);
    expect(findArtifact(plain.directory)).toBe(join(plain.directory, "artifacts/step-4"));
  });

  it("takes no checkpoint for the best that has no evalLoss", async () => {
    expect((await train([5, null, 2, null], BEST)).kept).toEqual([1, 2, 4, -3]);
    expect((await train([null, null], BEST)).kept).toEqual([1, 2]);
  });

  it.each([["embedded"], ["separate"]])("works with the %s engine", async (name) => {
    const project = enterProject();
    const trainer = createTinyTrainer({
      ...(name === "separate" && { engine: createSeparateEngine() }),
      ...BEST,
      saveTotalLimit: 1,
      maxSteps: 6,
      learningRate: 0.3,
    });
    const { artifacts } = await trainer.wait();
    const { jobId } = await trainer.start();
    const logs = readEvents(project, jobId).flatMap(({ event, data }) =>
      event === "training.log" ? [data as { step: number; evalLoss: number }] : [],
    );
    const lowest = logs.reduce((best, log) => (log.evalLoss < best.evalLoss ? log : best));
    expect(logs).toHaveLength(6);
    expect(artifacts.at(-1)).toMatchObject({ step: lowest.step, best: true });
    const steps = [...new Set([lowest.step, 6])].map((step) => `step-${step}`);
    expect(foldersOf(join(project, ".kit/jobs", jobId))).toEqual(steps);
  });
});

describe("earlyStoppingPatience", () => {
  const PATIENT = { ...BEST, earlyStoppingPatience: 2 } as const;

  it("ends the training after this many evaluations without a new lowest", async () => {
    const losses = [5, 2, 3, 1, 2, 1, 0, 9];
    const { log, end, kept, folders } = await train(losses, PATIENT);
    expect(log.map(({ event, data }) => [event, data["step"]])).toEqual([
      ["training.started", undefined],
      ...[1, 2, 3, 4, 5, 6].flatMap((step) => [
        ["training.log", step],
        ["checkpoint.saved", step],
      ]),
      ["training.completed", undefined],
    ]);
    expect(end?.data).toMatchObject({ stoppedAt: 6 });
    expect(kept).toEqual([1, 2, 3, 5, 6, -4]);
    // The engine had gone on to step 8.
    expect(folders).toEqual([1, 2, 3, 4, 5, 6].map((step) => `step-${step}`));
  });

  it("counts evaluations between two checkpoints, too, and then waits for none", async () => {
    const losses = [9, 5, 4, 3, 6, 7, 1, 1];
    const { log, end, kept } = await train(losses, { ...PATIENT, saveSteps: 4 });
    expect(log.at(-2)).toMatchObject({ event: "training.log", data: { step: 6 } });
    expect([end?.data["stoppedAt"], kept]).toEqual([6, [-4]]);
  });

  it("counts a loss that is not finite as none, and has nothing to end at the last step", async () => {
    expect((await train([5, null, null, 1], PATIENT)).end?.data).toMatchObject({ stoppedAt: 3 });
    const { end } = await train([5, 6, 7], PATIENT);
    expect(end?.data).toEqual({ artifacts: expect.any(Array) as unknown });
  });

  it("stops a job that was killed at any instant where it stops an undisturbed one", async () => {
    const losses = [5, 2, 3, 1, 2, 1, 0, 9];
    const options = { ...PATIENT, maxSteps: losses.length };
    const whole = await train(losses, options);
    const ended = ["training.completed", 6, -4];
    expect([whole.end?.event, whole.end?.data["stoppedAt"], whole.kept.at(-1)]).toEqual(ended);
    // From the first checkpoint on, without which there is nothing to resume.
    for (let events = 3; events < whole.log.length; events++) {
      const killed = await train(losses, options);
      cutLog(killed.directory, events);
      const resumed = await resume(losses, options);
      expect([resumed.end?.event, resumed.end?.data["stoppedAt"], resumed.kept.at(-1)]).toEqual(
        ended,
      );
    }
  });

  it.each([["embedded"], ["separate"]])("ends the %s engine, too", async (name) => {
    const project = enterProject();
    const trainer = createTinyTrainer({
      ...(name === "separate" && { engine: createSeparateEngine() }),
      ...PATIENT,
      maxSteps: 1_000_000,
      learningRate: 0.5,
    });
    const { job } = await trainer.wait();
    const stoppedAt = readEvents(project, job.id).at(-1)?.data["stoppedAt"];
    expect(job.status).toBe("completed");
    expect(stoppedAt).toBeGreaterThan(2);
    expect(
      existsSync(join(project, ".kit/jobs", job.id, `artifacts/step-${String(stoppedAt)}`)),
    ).toBe(true);
  });
});
