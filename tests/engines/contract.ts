import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asEngineEvent, asInferResult } from "../../protocol/engineReport.ts";
import type { Engine, TrainOptions } from "../../protocol/engine.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import type { AskedConfig } from "../../protocol/trainConfig.ts";
import { jsonl, scratchDirectory, scratchFile } from "./embedded/scratch.ts";

const SHAPE = { layers: 1, heads: 2, width: 16, context: 48 };
const ROWS = Array.from({ length: 8 }, (_, i) => ({ prompt: `${i}`, completion: `${i % 2}` }));
const QUESTION = { messages: [{ role: "user" as const, content: "1" }], maxTokens: 4 };

/** What every engine must hold, by what a trainer can see of it. */
export function describeEngine(name: string, createEngine: () => Engine): void {
  const asked = (more: Partial<AskedConfig> = {}): AskedConfig => ({
    model: SHAPE,
    dataset: { type: "jsonl", path: scratchFile("train.jsonl", jsonl(ROWS)) },
    maxSteps: 6,
    batchSize: 4,
    learningRate: 0.02,
    warmupSteps: 0,
    loggingSteps: 4,
    saveSteps: 3,
    ...more,
  });

  /** Trains in a directory of its own, and keeps what was reported. */
  async function run(more?: Partial<AskedConfig>, options: Partial<TrainOptions> = {}) {
    const engine = createEngine();
    const directory = scratchDirectory();
    const events: EngineEvent[] = [];
    const signal = options.signal ?? new AbortController().signal;
    const ended = engine.train({
      config: engine.prepare(asked(more)),
      directory,
      signal,
      onEvent(event) {
        events.push(asEngineEvent(event));
        options.onEvent?.(event);
      },
    });
    const error = await ended.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    return { engine, directory, events, error };
  }

  const logsOf = (events: EngineEvent[]) =>
    events.filter((event) => event.event === "training.log").map(({ data }) => data);
  const savedIn = (directory: string) => {
    const path = join(directory, "artifacts");
    return existsSync(path) ? readdirSync(path) : [];
  };

  describe(`the ${name} engine`, () => {
    it("fills in every default, says its name, and keeps what is asked for", () => {
      const engine = createEngine();
      const dataset = { type: "jsonl", path: "nowhere.jsonl" } as const;
      const config = engine.prepare({ dataset, maxSteps: 7, seed: undefined });
      expect(config).toMatchObject({ engine: { name: engine.name }, dataset, maxSteps: 7 });
      expect(config).toMatchObject({ model: "kit/nano", batchSize: 32, seed: 42, lora: null });
      expect(JSON.parse(JSON.stringify(config))).toEqual(config);
    });

    it.each([
      [{ model: "kit/huge" }, /^Unknown model "kit\/huge": use kit\/nano, kit\/small, /],
      [{ model: { ...SHAPE, heads: 3 } }, /^model\.width \(16\) must be a multiple of twice/],
      [{ maxLength: 49 }, /^"maxLength" must be at most the model's context of 48 tokens, but/],
      [
        { lora: { r: 1, alpha: 1, targetModules: ["qproj"] } },
        /^"lora\.targetModules" must name some of /,
      ],
    ])("refuses what it cannot train before anything starts: %j", (more, message) => {
      const prepare = () => createEngine().prepare(asked(more));
      expect(prepare).toThrow(message);
      expect(prepare).toThrow(expect.objectContaining({ name: "KitError" }) as Error);
    });

    it("reports its start, steps 1, 2, every loggingSteps and the last, and a checkpoint whole on disk", async () => {
      const seen: string[][] = [];
      let directory = "";
      const first = await run(undefined, {
        onEvent(event) {
          if (event.event === "checkpoint.saved") seen.push([event.data.path]);
        },
      });
      ({ directory } = first);
      expect(first.error).toBeUndefined();
      expect(
        first.events.map(({ event, data }) => [event, "step" in data ? data.step : 0]),
      ).toEqual([
        ["training.started", 0],
        ["training.log", 1],
        ["training.log", 2],
        ["checkpoint.saved", 3],
        ["training.log", 4],
        ["training.log", 6],
        ["checkpoint.saved", 6],
      ]);
      expect(first.events[0]?.data).toMatchObject({ rows: 8, maxSteps: 6 });
      expect(seen).toEqual([["artifacts/step-3"], ["artifacts/step-6"]]);
      for (const [path = ""] of seen) {
        const files = readdirSync(join(directory, path));
        expect(files).toEqual(
          expect.arrayContaining(["config.json", "model.safetensors", "tokenizer.json"]),
        );
      }
    });

    it("learns: the loss falls", async () => {
      const { events } = await run({ maxSteps: 40, saveSteps: 40 });
      const losses = logsOf(events).map(({ loss }) => loss ?? NaN);
      expect(losses[0]).toBeGreaterThan(4);
      expect(losses.at(-1)).toBeLessThan(2);
    });

    it("trains a preset", async () => {
      const { events, error } = await run({ model: "kit/nano", maxSteps: 1 });
      expect(error).toBeUndefined();
      expect(events[0]?.data).toMatchObject({ model: "kit/nano" });
    });

    it("has the same losses for the same seed, and others for another", async () => {
      const lossesOf = async (seed: number) =>
        logsOf((await run({ seed })).events).map(({ loss }) => loss);
      const first = await lossesOf(1);
      expect(await lossesOf(1)).toEqual(first);
      expect(await lossesOf(2)).not.toEqual(first);
    });

    it("names the file and the line of a bad row, before it starts", async () => {
      const path = scratchFile("bad.jsonl", `${jsonl(ROWS.slice(0, 1))}{"prompt":`);
      const { events, error, directory } = await run({ dataset: { type: "jsonl", path } });
      expect(error).toMatchObject({ name: "KitError", code: "DATASET_INVALID" });
      expect(error?.message).toContain(`${path}:2: not valid JSON`);
      expect([events, savedIn(directory)]).toEqual([[], []]);
    });

    it("fails where the loss is not finite, and keeps no checkpoint of it", async () => {
      const { error, directory } = await run({ learningRate: 1e30, maxGradNorm: 1e30 });
      expect(error).toMatchObject({ name: "KitError", code: "DIVERGED" });
      expect(error?.message).toMatch(/diverged at step \d/);
      expect(savedIn(directory)).toEqual([]);
    });

    it("rejects with the reason when it is aborted before it starts", async () => {
      const reason = new Error("not today");
      const { events, error } = await run({}, { signal: AbortSignal.abort(reason) });
      expect([events, error]).toEqual([[], reason]);
    });

    it("rejects with the reason when it is aborted in the midst, and leaves only whole checkpoints", async () => {
      const abort = new AbortController();
      const reason = new Error("enough");
      const { events, error, directory } = await run(
        { maxSteps: 1_000_000, saveSteps: 1 },
        {
          signal: abort.signal,
          onEvent: (event) => event.event === "training.log" && abort.abort(reason),
        },
      );
      expect(error).toBe(reason);
      expect(events.at(-1)?.event).toBe("training.log");
      for (const name of savedIn(directory)) {
        expect(name).toMatch(/^step-\d+$/);
        expect(readdirSync(join(directory, "artifacts", name))).toContain("model.safetensors");
      }
    });

    it("answers from a checkpoint, while another training goes on too", async () => {
      const { engine, directory } = await run();
      const abort = new AbortController();
      const begun = withResolvers();
      const other = run(
        { maxSteps: 1_000_000, saveSteps: 1_000_000 },
        { signal: abort.signal, onEvent: () => begun.resolve(undefined) },
      );
      await begun.promise;
      const model = await engine.load(join(directory, "artifacts/step-6"));
      const answer = asInferResult(await model.infer(QUESTION));
      expect(await model.infer(QUESTION)).toEqual(answer);
      expect(answer.tokens).toBeLessThanOrEqual(4);
      abort.abort(new Error("answered"));
      await other;
      await model.close();
      await model.close();
    });

    it("rejects an answer with the reason when it is aborted", async () => {
      const { engine, directory } = await run();
      const model = await engine.load(join(directory, "artifacts/step-3"));
      const reason = new Error("too slow");
      const answer = model.infer({ ...QUESTION, signal: AbortSignal.abort(reason) });
      await expect(answer).rejects.toBe(reason);
      await model.close();
    });

    it("goes on from a checkpoint", async () => {
      const first = await run({ maxSteps: 40, saveSteps: 40 });
      const second = await run({ model: join(first.directory, "artifacts/step-40"), maxSteps: 1 });
      const last = logsOf(first.events).at(-1)?.loss ?? NaN;
      expect(logsOf(second.events)[0]?.loss).toBeLessThan(last + 1);
    });

    it("refuses a folder without a checkpoint, to answer from and to train", async () => {
      const folder = scratchDirectory();
      await expect(createEngine().load(folder)).rejects.toMatchObject({
        name: "KitError",
        code: "CHECKPOINT_INVALID",
      });
      expect((await run({ model: folder })).error).toMatchObject({ name: "KitError" });
    });
  });
}

/** As `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers() {
  let resolve!: (value: unknown) => void;
  const promise = new Promise<unknown>((settle) => (resolve = settle));
  return { promise, resolve };
}
