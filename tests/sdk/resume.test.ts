import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { TrainerOptions } from "kit";
import { describe, expect, it } from "vitest";
import { stepOfEntry } from "../../protocol/artifactPath.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createSeparateEngine } from "../engines/separate/engine.ts";
import { createTinyTrainer, enterProject, readEvents } from "./project.ts";

const OPTIONS = { maxSteps: 8, saveSteps: 2, loggingSteps: 1 } as const;

/** Runs a trainer to its end, and says its notes and its log. */
async function train(options: Partial<TrainerOptions> = {}, { resume = false } = {}) {
  const trainer = createTinyTrainer({ ...OPTIONS, ...options }) as DrivenTrainer;
  const notes: string[] = [];
  trainer[DRIVER].observe({ onNote: (text) => notes.push(text) });
  if (resume) trainer[DRIVER].resume();
  const { jobId } = await trainer.start();
  const result = await trainer.wait().catch((error: unknown) => ({ error: String(error) }));
  return { jobId, notes, result, log: readEvents(process.cwd(), jobId) };
}

/** Ends a job after the checkpoint of a step. */
function endedAt(step: number, how: "failed" | "cancelled" = "failed"): Partial<TrainerOptions> {
  const abort = new AbortController();
  return {
    abortSignal: abort.signal,
    callbacks: {
      onCheckpoint(context) {
        if (context.step !== step) return;
        if (how === "failed") throw new Error("the machine burns");
        abort.abort();
      },
    },
  };
}

/** The last checkpoint that is on disk: the training goes on while its callback runs. */
function newestOf(jobId: string): number {
  const names = readdirSync(join(process.cwd(), ".kit/jobs", jobId, "artifacts"));
  return Math.max(...names.map((name) => stepOfEntry(name) ?? 0));
}

describe("resume", () => {
  it.each([
    ["embedded", "failed"],
    ["embedded", "cancelled"],
    ["separate", "failed"],
  ] as const)("goes on where a job of the %s engine %s", async (engine, how) => {
    enterProject();
    // Enough steps for the callback to end it in their midst, however busy the machine is.
    const steps = { maxSteps: 100 };
    const chosen = engine === "separate" ? { ...steps, engine: createSeparateEngine() } : steps;
    const first = await train({ ...chosen, ...endedAt(2, how) });
    const step = newestOf(first.jobId);
    const second = await train({ ...chosen, resume: true });
    const goesOn = `resuming job ${first.jobId} after step ${step}`;
    const onlyEnds = `job ${first.jobId} had trained all ${step} steps; only completing it`;
    // A stalled main thread may end the first job only after its last step.
    expect(second.notes).toEqual(step === steps.maxSteps ? [goesOn, onlyEnds] : [goesOn]);
    expect(second.log[0]).toMatchObject({
      event: "training.started",
      data: { resumedFrom: first.jobId, resumedStep: step },
    });
    const whole = await train(chosen);
    expect(whole.log[0]?.data).not.toHaveProperty("resumedFrom");
    const losses = ({ log }: typeof whole) =>
      log.flatMap(({ event, data }) =>
        event === "training.log" ? [[data["step"], data["loss"]]] : [],
      );
    expect(losses(second)).toEqual(losses(whole).filter(([at]) => Number(at) > step));
    expect(second.log.at(-1)?.event).toBe("training.completed");
  });

  it("starts anew and says so without a checkpoint, another name's, or once a job has gone on to the end", async () => {
    enterProject();
    const none = [
      "nothing to resume: no failed or cancelled job of tiny has a checkpoint; starting from step 0",
    ];
    expect((await train({}, { resume: true })).notes).toEqual(none);
    await train({ ...endedAt(2), name: "another" });
    const { notes, log } = await train({ resume: true });
    expect([notes, log[0]?.data["resumedFrom"]]).toEqual([none, undefined]);
    const failed = await train(endedAt(4));
    expect((await train({}, { resume: true })).notes[0]).toContain(failed.jobId);
    expect((await train({}, { resume: true })).notes).toEqual(none);
  });

  it("says which options have changed, if they count", async () => {
    enterProject();
    await train(endedAt(2));
    const { notes } = await train({ resume: true, saveSteps: 3, learningRate: 0.1, batchSize: 3 });
    expect(notes[1]).toBe(
      "warning: batchSize, learningRate changed since that job; losses will differ from an uninterrupted run",
    );
  });

  it("goes on from a job's own checkpoints, not from the best that was copied into it", async () => {
    enterProject();
    const best = { evalSplit: 0.5, loadBestModelAtEnd: true, learningRate: 30, maxSteps: 16 };
    // It may have come to its last step by the time its callback throws.
    const first = await train({ ...best, ...endedAt(2), maxSteps: 8 });
    const step = newestOf(first.jobId);
    const broken = await train({ ...best, learningRate: 1e30, resume: true });
    expect(broken.log.at(-1)?.event).toBe("training.failed");
    expect(newestOf(broken.jobId)).toBeGreaterThan(0);
    const third = await train({ ...best, resume: true });
    expect(third.notes).toEqual([
      `resuming job ${first.jobId} after step ${step}`,
      "warning: maxSteps changed since that job; losses will differ from an uninterrupted run",
    ]);
    const evaluations = first.log.flatMap(({ event, data }) =>
      event === "training.log" && "evalLoss" in data ? [Number(data["evalLoss"])] : [],
    );
    expect(third.log[0]?.data).toMatchObject({
      resumedBest: { evalLoss: Math.min(...evaluations) },
      resumedEvaluations: evaluations.map((evalLoss) => ({ evalLoss })),
    });
  });

  // The separate engine keeps no trainer_state.json: the evaluations are the job's, not the engine's.
  it.each(["embedded", "separate"])(
    "takes the %s engine's best of before with it",
    async (name) => {
      enterProject();
      const engine = name === "separate" ? { engine: createSeparateEngine() } : {};
      const best = { ...engine, evalSplit: 0.5, loadBestModelAtEnd: true, learningRate: 30 };
      const first = await train({ ...best, ...endedAt(2) });
      const second = await train({ ...best, resume: true });
      const lossesOf = ({ log }: typeof first) =>
        log.flatMap(({ event, data }) =>
          event === "training.log" && typeof data["evalLoss"] === "number"
            ? [[Number(data["step"]), data["evalLoss"]] as const]
            : [],
        );
      const all = new Map([...lossesOf(first), ...lossesOf(second)]);
      const lowest = Math.min(...all.values());
      const last = (second.log.at(-1)?.data["artifacts"] as { step: number; best: boolean }[]).at(
        -1,
      );
      expect(last?.best).toBe(true);
      expect(all.get(last?.step ?? 0)).toBe(lowest);
      expect(last?.step).toBe(2);
      expect(readdirSync(join(process.cwd(), ".kit/jobs", second.jobId, "artifacts"))).toContain(
        `step-${last?.step}`,
      );
    },
  );
});
