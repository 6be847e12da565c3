import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { type Run, ROWS, dataOf, tinyConfig } from "../embedded/run.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { BACKENDS } from "./backends.ts";

const LORA = { r: 2, alpha: 4, targetModules: ["q_proj", "down_proj"] };

describe.each(BACKENDS)("a training on %s", (_, run) => {
  /** Must be the same in both: each log after step 8, and the files of the last checkpoint. */
  function resultOf({ events, directory }: Run, lora: boolean) {
    const read = (name: string) =>
      readFileSync(join(directory, "artifacts/step-20", name), "base64");
    const logs = dataOf(events, "training.log").filter(({ step }) => step > 8);
    return {
      logs: logs.map(({ tokensPerSecond: _, ...log }) => log),
      weights: read(lora ? "adapter_model.safetensors" : "model.safetensors"),
      optimizer: read("optimizer.safetensors"),
      state: read("trainer_state.json"),
    };
  }

  /** Trains until step 8 is saved. Returns that checkpoint's folder. */
  async function interrupted(config: TrainConfig): Promise<string> {
    const [abort, directory] = [new AbortController(), scratchDirectory()];
    const onEvent = ({ event, data }: { event: string; data: object }) => {
      if (event === "checkpoint.saved" && "step" in data && data.step === 8) abort.abort();
    };
    await run(config, { signal: abort.signal, onEvent }, directory).catch(() => undefined);
    return join(directory, "artifacts/step-8");
  }

  test.each([
    ["a whole model, its logs and passes across the break", { loggingSteps: 7, batchSize: 5 }],
    ["evaluated", { evalSplit: 0.25, evalSteps: 6 }],
    ["in accumulated batches", { gradientAccumulationSteps: 3, numTrainEpochs: undefined }],
    ["an adapter", { lora: LORA }],
  ])("8 steps and 12 more are 20 to the bit, on 1 thread or 2: %s", async (_, options) => {
    onTestFinished(() => void delete process.env["KIT_THREADS"]);
    const config = tinyConfig({ maxSteps: 20, saveSteps: 4, loggingSteps: 1, ...options });
    process.env["KIT_THREADS"] = "1";
    const resumeFrom = await interrupted(config);
    const whole = resultOf(await run(config), config.lora !== undefined);
    process.env["KIT_THREADS"] = "2";
    const more = await run(config, { resumeFrom });
    expect(dataOf(more.events, "training.log")[0]?.step).toBeGreaterThan(8);
    expect(resultOf(more, config.lora !== undefined)).toEqual(whole);
  });

  test("a pipe in the place of a checkpoint's state keeps nobody waiting", async () => {
    const config = tinyConfig({ maxSteps: 3, saveSteps: 3 });
    const { directory } = await run(config);
    const resumeFrom = join(directory, "artifacts/step-3");
    const state = join(resumeFrom, "trainer_state.json");
    rmSync(state);
    execFileSync("mkfifo", [state]);
    await expect(run({ ...config, maxSteps: 4 }, { resumeFrom })).rejects.toMatchObject({
      code: "RESUME_INVALID",
      message: `${state} does not record the progress of training. Use a checkpoint that Kit saved.`,
    });
  });

  test("another model or a damaged state is refused, and a lost optimizer starts anew with a note", async () => {
    const config = tinyConfig({ maxSteps: 3, saveSteps: 3 });
    const { directory } = await run(config);
    const resumeFrom = join(directory, "artifacts/step-3");
    const notes: string[] = [];
    const onNote = (text: string) => void notes.push(text);
    const longer = { ...config, maxSteps: 4 };
    await run(longer, { resumeFrom, onNote });
    expect(notes.splice(0)).toEqual(["saving step 4"]);
    for (const change of [
      { model: { layers: 2, heads: 2, width: 16, context: 48 } },
      { lora: LORA },
    ]) {
      await expect(run({ ...longer, ...change }, { resumeFrom })).rejects.toMatchObject({
        code: "CANNOT_RESUME",
        message: expect.stringContaining(
          "belongs to a different model or adapter than the trainer's",
        ),
      });
    }
    rmSync(join(resumeFrom, "optimizer.safetensors"));
    const { events } = await run(longer, { resumeFrom, onNote });
    expect(events.at(-1)).toMatchObject({ event: "checkpoint.saved", data: { step: 4 } });
    expect(notes).toEqual([
      `warning: ${resumeFrom} has no optimizer.safetensors, so the optimizer starts afresh; losses will differ from an uninterrupted run`,
      "saving step 4",
    ]);
    writeFileSync(join(resumeFrom, "trainer_state.json"), "{}");
    for (const damaged of [resumeFrom, scratchDirectory()]) {
      await expect(run(longer, { resumeFrom: damaged })).rejects.toMatchObject({
        code: "RESUME_INVALID",
        message: expect.stringContaining(damaged),
      });
    }
  });

  test("a start says by a fingerprint which rows it learns from and is evaluated on", async () => {
    const heldOut = (rows: object[]) => ({
      evalDataset: { type: "jsonl", path: scratchFile("eval.jsonl", jsonl(rows)) } as const,
    });
    const printsOf = async (changes: Partial<TrainConfig>) => {
      const { events } = await run(tinyConfig({ maxSteps: 1, ...changes }));
      const { fingerprint, evalFingerprint } = dataOf(events, "training.started")[0] ?? {};
      return [fingerprint, evalFingerprint];
    };
    const [rows, held] = await printsOf(heldOut(ROWS));
    expect([rows, held]).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), rows]);
    const reversed = ROWS.toReversed();
    const path = scratchFile("other.jsonl", jsonl(reversed));
    const other = await printsOf({ ...heldOut(reversed), dataset: { type: "jsonl", path } });
    expect(other).toEqual([expect.not.stringMatching(String(rows)), other[0]]);
    const [first, second] = [
      await printsOf({ evalSplit: 0.5 }),
      await printsOf({ evalSplit: 0.25 }),
    ];
    expect([first[0], second[0]]).toEqual([rows, rows]);
    expect(new Set([held, first[1], second[1]]).size).toBe(3);
  });

  test("a job that had trained all its steps saves them again", async () => {
    const config = tinyConfig({ maxSteps: 3, saveSteps: 3 });
    const { directory } = await run(config);
    const { events } = await run(config, { resumeFrom: join(directory, "artifacts/step-3") });
    expect(events.map(({ event }) => event)).toEqual(["training.started", "checkpoint.saved"]);
  });
});
