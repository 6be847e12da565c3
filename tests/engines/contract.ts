import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestOptions, afterAll, beforeAll, describe, expect, it } from "vitest";
import { objectiveOf } from "../../engines/objectives/objectives.ts";
import { materializeDatasets } from "../../engines/training/materializeDatasets.ts";
import type { DatasetCode, DatasetConfig } from "../../protocol/dataset.ts";
import type { Engine, TrainOptions } from "../../protocol/engine.ts";
import { asEngineEvent, asInferResult, asTrainingCheck } from "../../protocol/engineReport.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import type { TrainingOptions, TrainConfig } from "../../protocol/trainConfig.ts";
import { checkOptions } from "../../sdk/options.ts";
import { createTrainer } from "../../sdk/trainer.ts";
import { loggedCurves, readCurves } from "../jobs/tensorboard/eventFiles.ts";
import { enterProject } from "../sdk/project.ts";
import { describeAnswers } from "./contractAnswers.ts";
import { fixture, rowsOf } from "./dataset/tables/tables.ts";
import { canonical, jsonl } from "./embedded/scratch.ts";
import { createScratch } from "./scratch.ts";

const SHAPE = { layers: 1, heads: 2, width: 16, context: 48 };
const ROWS = Array.from({ length: 8 }, (_, i) => ({ prompt: `${i}`, completion: `${i % 2}` }));
/** Rows of one to nine learned tokens, so that a mean over rows or batches is another number. */
const HELD_OUT = Array.from({ length: 7 }, (_, i) => ({
  prompt: `${i}`,
  completion: "1".repeat(i === 3 ? 8 : i % 2),
}));
const QUESTION = { messages: [{ role: "user" as const, content: "1" }], maxTokens: 4 };
const NEVER = 1_000_000;
/** Silent after its second step. */
const ENDLESS = { maxSteps: NEVER, saveSteps: NEVER, loggingSteps: NEVER };

/** Enough to learn which of two answers to give. */
const STEPS = 42;

/** That 0 is the better answer, for each objective that learns so. */
const PREFERENCES = {
  dpo: ROWS.map(({ prompt }) => ({ prompt, chosen: "0", rejected: "1" })),
  kto: ROWS.flatMap(({ prompt }) => [
    { prompt, completion: "0", label: true },
    { prompt, completion: "1", label: false },
  ]),
};

function rowOf(question: unknown, answer: unknown) {
  return { prompt: String(question), completion: String(answer) };
}

interface Run {
  directory: string;
  events: EngineEvent[];
  /** The files of each checkpoint at the time of its event. */
  saved: Record<string, string[]>;
  error: Error | undefined;
}

/** The tests that every engine passes: all that a trainer relies on. None needs another. */
export function describeEngine(
  name: string,
  createEngine: () => Engine,
  options: TestOptions = {},
): void {
  /** Holds the dataset, the one whole training that most tests need, and what else they write. */
  const scratch = createScratch();
  const home = scratch.root;
  const path = join(home, "train.jsonl");

  const asked = (more: Partial<TrainingOptions> = {}): TrainingOptions => ({
    model: SHAPE,
    dataset: { type: "jsonl", path },
    maxSteps: STEPS,
    batchSize: 4,
    learningRate: 0.02,
    warmupSteps: 0,
    loggingSteps: 20,
    saveSteps: 21,
    ...more,
  });

  /** Trains to the end, without `onNote`. */
  async function run(
    more: Partial<TrainingOptions> = {},
    {
      directory = scratch.directory(),
      signal = new AbortController().signal,
      resumeFrom,
      onEvent,
    }: Partial<TrainOptions> = {},
  ): Promise<Run> {
    const engine = createEngine();
    const events: EngineEvent[] = [];
    const saved: Run["saved"] = {};
    const ended = engine.train({
      config: engine.prepare(asked(more)),
      directory,
      ...(resumeFrom !== undefined && { resumeFrom }),
      signal,
      onEvent(reported) {
        const event = asEngineEvent(name, reported);
        events.push(event);
        if (event.event === "checkpoint.saved") {
          saved[event.data.path] = readdirSync(join(directory, event.data.path));
        }
        onEvent?.(event);
      },
    });
    const error = await ended.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    return { directory, events, saved, error };
  }

  const logsOf = ({ events }: Run) =>
    events.filter((event) => event.event === "training.log").map(({ data }) => data);

  describe(`the ${name} engine`, options, () => {
    let trained: Run;
    const checkpoint = join(home, `artifacts/step-${STEPS}`);

    beforeAll(async () => {
      writeFileSync(path, jsonl(ROWS));
      trained = await run({}, { directory: home });
    }, options.timeout);
    afterAll(scratch.remove);

    it("fills in every default, records its name, and keeps what is asked for", () => {
      const engine = createEngine();
      const dataset = { type: "jsonl", path: "nowhere.jsonl" } as const;
      const config = engine.prepare({ dataset, maxSteps: 7, seed: undefined });
      expect(config).toMatchObject({ engine: { name: engine.name }, dataset, maxSteps: 7 });
      expect(config).toMatchObject({ model: "kit/nano", batchSize: 32, seed: 42, lora: undefined });
      expect(JSON.parse(JSON.stringify(config))).toEqual(config);
    });

    it("prepares a lower learning rate for a checkpoint than for random weights", () => {
      const rateOf = (model: TrainingOptions["model"]) =>
        createEngine().prepare(asked({ model, learningRate: undefined })).learningRate;
      expect([SHAPE, "kit/small", "./base", "/base"].map(rateOf)).toEqual([
        0.004, 0.004, 0.00002, 0.00002,
      ]);
    });

    it.each([
      [{ model: "kit/huge" }, /^Unknown model "kit\/huge"\. Use kit\/nano, kit\/small, /],
      [{ model: { ...SHAPE, heads: 3 } }, /^model\.width \(16\) must be a multiple of twice/],
      [{ maxLength: 49 }, /^"maxLength" must be at most the model's context of 48 tokens, but/],
      [
        { lora: { r: 1, alpha: 1, targetModules: ["qproj"] } },
        /^"lora\.targetModules" must .*name some of /,
      ],
    ])("refuses what it cannot train before anything starts: %j", (more, message) => {
      const prepare = () => createEngine().prepare(asked(more));
      expect(prepare).toThrow(message);
      expect(prepare).toThrow(expect.objectContaining({ name: "KitError" }) as Error);
    });

    it.each(["dpo", "kto"] as const)("learns by the objective %s, or refuses it", async (type) => {
      const { format } = objectiveOf({ objective: { type } as TrainConfig["objective"] });
      const path = scratch.file(`${type}.jsonl`, canonical(PREFERENCES[type], format));
      const dataset = { type: "jsonl", path } as const;
      const engine = createEngine();
      if (!engine.objectives?.includes(type)) {
        expect(() => checkOptions({ name: "a", engine, dataset, objective: { type } })).toThrow(
          `the ${engine.name} engine doesn't train the objective "${type}". Remove engine`,
        );
        return;
      }
      const figures = { maxSteps: 12, saveSteps: 12, loggingSteps: 12, evalSteps: 12 };
      const trained = await run({ ...figures, dataset, evalDataset: dataset, objective: { type } });
      expect(trained.error).toBeUndefined();
      const [first, , last] = logsOf(trained);
      const { metrics = {}, loss } = last ?? {};
      expect(loss).toBeLessThan(Number(first?.loss));
      const margins = [metrics["rewardsMargins"], metrics["evalRewardsMargins"]].map(Number);
      expect(Math.min(...margins)).toBeGreaterThan(0.1);
    });

    it("trains a job whose log TensorBoard gets, too", async () => {
      const project = enterProject({ "held.jsonl": jsonl(HELD_OUT) });
      const trainer = createTrainer({
        name: "reported",
        ...{ model: SHAPE, dataset: { path }, evalDataset: { path: "held.jsonl" } },
        ...{ maxSteps: 4, saveSteps: 4, loggingSteps: 1, batchSize: 4 },
        engine: createEngine(),
        reportTo: "tensorboard",
      });
      const { job } = await trainer.wait();
      const { curves } = readCurves(join(project, ".kit/jobs", job.id, "tensorboard"));
      expect(curves).toEqual(loggedCurves(project, job.id));
      expect(curves["train/loss"]).toHaveLength(4);
      expect(curves["eval/loss"]?.length).toBeGreaterThan(0);
    });

    it("reports its start, steps 1, 2, every loggingSteps and the last, and each checkpoint", () => {
      const { error, events } = trained;
      expect(error).toBeUndefined();
      expect(events.map(({ event, data }) => [event, "step" in data ? data.step : 0])).toEqual([
        ["training.started", 0],
        ["training.log", 1],
        ["training.log", 2],
        ["training.log", 20],
        ["checkpoint.saved", 21],
        ["training.log", 40],
        ["training.log", 42],
        ["checkpoint.saved", 42],
      ]);
      expect(events[0]?.data).toMatchObject({ rows: ROWS.length, maxSteps: STEPS });
    });

    it("has a checkpoint whole on disk before its event", () => {
      const whole = expect.arrayContaining(["config.json", "model.safetensors", "tokenizer.json"]);
      expect(trained.saved).toEqual({ "artifacts/step-21": whole, "artifacts/step-42": whole });
    });

    it("learns: the loss falls", () => {
      const losses = logsOf(trained).map(({ loss }) => loss ?? NaN);
      expect(losses[0]).toBeGreaterThan(4);
      expect(losses.at(-1)).toBeLessThan(2);
    });

    it("has the same losses for the same seed, and others for another", async () => {
      const lossesOf = (some: Run) => logsOf(some).map(({ loss }) => loss);
      expect(lossesOf(await run())).toEqual(lossesOf(trained));
      const other = await run({ seed: 1, maxSteps: 1 });
      expect(lossesOf(other)[0]).not.toEqual(lossesOf(trained)[0]);
    });

    it("trains for numTrainEpochs, of gradientAccumulationSteps batches a step", async () => {
      const epochs = { maxSteps: undefined, numTrainEpochs: 2.5, gradientAccumulationSteps: 2 };
      const { events } = await run({ ...epochs, batchSize: 2 });
      expect(events[0]?.data).toMatchObject({ maxSteps: 5 });
      expect(events.at(-1)).toMatchObject({ event: "checkpoint.saved", data: { step: 5 } });
      const whole = await run({ maxSteps: 5, batchSize: 4 });
      const near = logsOf(whole).map(({ loss }) => expect.closeTo(loss ?? NaN, 3) as number);
      expect(logsOf({ events } as Run).map(({ loss }) => loss)).toEqual(near);
    });

    it.each([
      ["constant", [0.01, 0.02, 0.02]],
      ["linear", [0.01, 0.02, 0.02 / 3]],
      ["cosine", [0.01, 0.02, 0.002]],
    ] as const)("warms up, then follows lrSchedulerType: %s", async (lrSchedulerType, rates) => {
      const some = await run({ lrSchedulerType, warmupSteps: 0.5, maxSteps: 4, loggingSteps: 4 });
      const near = rates.map((rate) => expect.closeTo(rate, 9) as number);
      expect(logsOf(some).map(({ learningRate }) => learningRate)).toEqual(near);
    });

    it("evaluates on rows of their own: every evalSteps, and after the last step", async () => {
      const evalDataset = {
        type: "jsonl",
        path: scratch.file("eval.jsonl", jsonl(HELD_OUT)),
      } as const;
      const still = {
        learningRate: 1e-9,
        maxSteps: 7,
        evalSteps: 3,
        saveSteps: NEVER,
        evalDataset,
      };
      const evalLosses = (some: Run) => logsOf(some).map(({ step, evalLoss }) => [step, evalLoss]);
      const some = await run({ ...still, batchSize: 2 });
      expect(some.error).toBeUndefined();
      expect(some.events[0]?.data).toMatchObject({ rows: ROWS.length, evalRows: HELD_OUT.length });
      const measured = expect.any(Number) as number;
      const expected = [1, 2, 3, 6, 7].map((step) => [step, step > 2 ? measured : undefined]);
      expect(evalLosses(some)).toEqual(expected);
      // A sum over the tokens, divided once: the size of a batch does not show.
      const other = await run({ ...still, batchSize: 3 });
      const near = evalLosses(some).map(([step, evalLoss]) => [
        step,
        evalLoss && (expect.closeTo(evalLoss, 4) as number),
      ]);
      expect(evalLosses(other)).toEqual(near);
    });

    it.each([0.001, 0.25, 0.999])("sets %d of the rows aside to evaluate on", async (evalSplit) => {
      const evalRows = Math.min(ROWS.length - 1, Math.max(1, evalSplit * ROWS.length));
      const first = await run({ evalSplit: Number(evalSplit), maxSteps: 1 });
      const rows = ROWS.length - Math.round(evalRows);
      expect(first.events[0]?.data).toMatchObject({ rows, evalRows: Math.round(evalRows) });
      const [log] = logsOf(first);
      const lossesOf = (some: Run) => logsOf(some).map(({ loss, evalLoss }) => [loss, evalLoss]);
      expect(log?.evalLoss).toBeGreaterThan(1);
      expect(lossesOf(await run({ evalSplit, maxSteps: 1 }))).toEqual(lossesOf(first));
    });

    it("evaluates as often as it saves, without evalSteps", async () => {
      const { events } = await run({ evalSplit: 0.5, maxSteps: 5, saveSteps: 2 });
      const evaluated = logsOf({ events } as Run).filter(({ evalLoss }) => evalLoss !== undefined);
      expect(evaluated.map(({ step }) => step)).toEqual([2, 4, 5]);
      const order = events.flatMap(({ event, data }) =>
        "step" in data && data.step === 4 ? [event] : [],
      );
      expect(order).toEqual(["training.log", "checkpoint.saved"]);
    });

    it("needs two rows to set one aside", async () => {
      const path = scratch.file("one.jsonl", jsonl(ROWS.slice(0, 1)));
      const { error } = await run({ dataset: { type: "jsonl", path }, evalSplit: 0.5 });
      expect(error).toMatchObject({ name: "KitError", code: "DATASET_INVALID" });
      expect(error?.message).toContain("evalSplit needs two");
    });

    it("trains a preset", async () => {
      const { events, error } = await run({ model: "kit/nano", maxSteps: 1 });
      expect(error).toBeUndefined();
      expect(events[0]?.data).toMatchObject({ model: "kit/nano" });
    });

    it("checks a training without training: what its start then says, and the first row", async () => {
      const engine = createEngine();
      const config = engine.prepare(asked());
      const found = asTrainingCheck(name, await engine.check({ config }));
      expect(found.started).toEqual(trained.events[0]?.data);
      const learned = found.firstRow.filter(({ isLearned }) => isLearned);
      expect(learned.map(({ text }) => text)).toEqual(["0", "<|eos|>"]);
      expect(found.firstRow.map(({ text }) => text).join("")).toBe(
        "<|bos|><|user|>0<|eos|><|assistant|>0<|eos|>",
      );
      expect(found).toMatchObject({ longestRow: 7, learnedTokens: 2 * ROWS.length });
      expect(found.memoryBytes).toBeGreaterThan(0);
    });

    it("tells at a check what a dataset has, and which rows its starting model finds hardest", async () => {
      const wrong = { prompt: "1", completion: "{]" };
      const path = scratch.file("told.jsonl", jsonl([...ROWS, ROWS[1]!, wrong, wrong]));
      const held = scratch.file("held.jsonl", jsonl([ROWS[0]!, wrong]));
      const engine = createEngine();
      const dataset = { type: "jsonl", path } as const;
      const evalDataset = { type: "jsonl", path: held } as const;
      const config = engine.prepare(asked({ model: checkpoint, dataset, evalDataset }));
      const notes: string[] = [];
      const onNote = (note: string) => void notes.push(note);
      const found = asTrainingCheck(name, await engine.check({ config, loss: true, onNote }));
      const [again, first] = [ROWS.length + 1, ROWS.length + 2];
      // An engine of somebody else need not look.
      if (name === "separate") return expect(found.dataset).toBeUndefined();
      expect(found.dataset).toMatchObject({
        forms: { "{prompt, completion}": ROWS.length + 3 },
        tokens: { least: 7, median: 7, p95: 8, most: 8 },
        duplicates: { rows: 2, first: [`${path}:2`, `${path}:${again}`] },
        leaked: { rows: 2, first: [`${path}:1`, `${held}:1`] },
      });
      const measuring = expect.stringContaining(
        `measuring the loss of ${ROWS.length + 3} examples`,
      );
      expect(notes).toContainEqual(measuring);
      const [hardest, ...others] = found.hardest ?? [];
      expect(hardest?.where).toBe(`${path}:${first}`);
      expect(hardest?.row.map(({ text }) => text).join("")).toContain("<|assistant|>{]<|eos|>");
      expect(others.map(({ where }) => where)).toContain(`${path}:${first + 1}`);
      expect(others).toHaveLength(4);
      expect(hardest?.loss).toBeGreaterThan(others[2]!.loss + 0.5);
    });

    it("refuses at a check what a training would refuse", async () => {
      const engine = createEngine();
      const { error } = await run({ model: home });
      const config = engine.prepare(asked({ model: home }));
      await expect(engine.check({ config })).rejects.toMatchObject({
        name: "KitError",
        message: (error as Error).message,
      });
    });

    it("reads every file of a list and of a pattern, each once", async () => {
      const parts = scratch.directory();
      ROWS.forEach((row, i) => writeFileSync(join(parts, `${i}.jsonl`), jsonl([row])));
      const list = [join(parts, "*.jsonl"), path, join(parts, "0.jsonl")];
      const { events, error } = await run({ dataset: { type: "jsonl", path: list }, maxSteps: 1 });
      expect(error).toBeUndefined();
      expect(events[0]?.data).toMatchObject({ rows: 2 * ROWS.length });
    });

    it("reads the same rows of every form: of tables, of JSON, and those that code makes or maps", async () => {
      const parquet = fixture("snappy.parquet");
      const records = await rowsOf(parquet);
      const rows = records.map(({ question, answer }) => rowOf(question, answer));
      const csv = rows.map(({ prompt, completion }) => `${prompt};"${completion}"\n`).join("");
      const columns = { prompt: "question", completion: "answer" };
      const forms: [DatasetConfig, DatasetCode][] = [
        [{ type: "csv", path: scratch.file("a.csv", `question;answer\n${csv}`), columns }, {}],
        [{ type: "parquet", path: parquet, columns }, {}],
        [{ type: "json", path: scratch.file("a.json", JSON.stringify(records)), columns }, {}],
        [
          { type: "jsonl", path: scratch.file("a.jsonl", jsonl(records)), isMapped: true },
          { map: ({ question, answer }) => rowOf(question, answer) },
        ],
        [{ type: "code", path: [] }, { rows }],
      ];
      const engine = createEngine();
      const freeze = async ([dataset, code]: [DatasetConfig, DatasetCode]) => {
        const frozen = await materializeDatasets(engine.prepare(asked({ dataset })), {
          ...{ code: { dataset: code }, directory: scratch.directory(), onNote: () => {} },
        });
        return String(frozen.config.dataset.path);
      };
      const fingerprintOf = async (path: string[]) => {
        const dataset = { type: "jsonl", path } as const;
        const config = engine.prepare(asked({ dataset, maxLength: 48 }));
        const { started } = asTrainingCheck(name, await engine.check({ config }));
        expect(started.rows).toBe(forms.length * rows.length);
        return started.fingerprint;
      };
      const plain = forms.map(() => scratch.file("rows.jsonl", jsonl(rows)));
      const frozen = await Promise.all(forms.map(freeze));
      expect(await fingerprintOf(frozen)).toBe(await fingerprintOf(plain));
    });

    it("reads OpenAI's rows: developers, parts of text, answers that are not learned", async () => {
      const question = { role: "user", content: [{ type: "text", text: "1" }] };
      const answers = [0, 1].map((weight) => ({ role: "assistant", content: "10", weight }));
      const messages = [
        { role: "developer", content: "0" },
        ...answers.flatMap((answer) => [question, answer]),
      ];
      const rows = canonical([{ messages, parallel_tool_calls: true }]);
      const path = scratch.file("openai.jsonl", rows);
      const engine = createEngine();
      const config = engine.prepare(asked({ dataset: { type: "jsonl", path }, maxSteps: 1 }));
      const { firstRow } = asTrainingCheck(name, await engine.check({ config }));
      const shown = (pieces: typeof firstRow) => pieces.map(({ text }) => text).join("");
      expect(shown(firstRow)).toBe(
        "<|bos|><|system|>0<|eos|><|user|>1<|eos|><|assistant|>10<|eos|><|user|>1<|eos|><|assistant|>10<|eos|>",
      );
      expect(shown(firstRow.filter(({ isLearned }) => isLearned))).toBe("10<|eos|>");
    });

    it("refuses tools of a model whose chat template takes none", async () => {
      const tool = { type: "function", function: { name: "f" } };
      const call = { role: "assistant", tool_calls: [tool] };
      for (const row of [
        { ...ROWS[0], tools: [tool] },
        { messages: [QUESTION.messages[0], call] },
      ]) {
        const path = scratch.file("tools.jsonl", canonical([row]));
        const { error } = await run({ dataset: { type: "jsonl", path } });
        expect(error).toMatchObject({ name: "KitError", code: "DATASET_INVALID" });
        expect(error?.message).toMatch(
          /(^|tools\.jsonl:1: )The model's chat template doesn't support tools\. Use/,
        );
      }
    });

    it("fails where the loss is not finite, and keeps no checkpoint of it", async () => {
      const beyondFloat32 = { learningRate: 1e39, saveSteps: 1 };
      const { error, events, directory } = await run(beyondFloat32);
      expect(error).toMatchObject({ name: "KitError", code: "DIVERGED" });
      expect(error?.message).toMatch(/diverged at step \d/);
      expect(events.map(({ event }) => event)).not.toContain("checkpoint.saved");
      expect(savedIn(directory)).toEqual([]);
    });

    it("rejects with the reason when it is aborted before it starts", async () => {
      const reason = new Error("not today");
      const { events, error, directory } = await run({}, { signal: AbortSignal.abort(reason) });
      expect([events, error, readdirSync(directory)]).toEqual([[], reason, []]);
    });

    it("rejects with the reason when it is aborted, reports no more and leaves whole checkpoints", async () => {
      const abort = new AbortController();
      const reason = new Error("enough");
      const isThird = ({ event, data }: EngineEvent) =>
        event === "checkpoint.saved" && "step" in data && data.step === 3;
      const { error, events, directory } = await run(
        { ...ENDLESS, saveSteps: 1 },
        { signal: abort.signal, onEvent: (event) => isThird(event) && abort.abort(reason) },
      );
      expect(error).toBe(reason);
      expect(events.at(-1)).toMatchObject({ event: "checkpoint.saved", data: { step: 3 } });
      const names = savedIn(directory);
      expect(names).toEqual(expect.arrayContaining(["step-1", "step-2", "step-3"]));
      for (const name of names) {
        expect(name).toMatch(/^step-\d+$/);
        expect(readdirSync(join(directory, "artifacts", name))).toContain("model.safetensors");
      }
    });

    it("answers from a checkpoint while another training goes on, which ends when it is aborted", async () => {
      const abort = new AbortController();
      const reason = new Error("answered");
      const begun = withResolvers();
      const { signal } = abort;
      const other = run(ENDLESS, { signal, onEvent: () => begun.resolve(undefined) });
      await begun.promise;
      const model = await createEngine().load(checkpoint);
      const answer = asInferResult(name, await model.infer(QUESTION));
      expect(await model.infer(QUESTION)).toEqual(answer);
      expect(answer.tokens).toBeLessThanOrEqual(QUESTION.maxTokens);
      abort.abort(reason);
      expect((await other).error).toBe(reason);
      await model.close();
      await model.close();
    });

    it("rejects an answer with the reason when it is aborted, and answers the next", async () => {
      const model = await createEngine().load(checkpoint);
      const reason = new Error("too slow");
      const abort = new AbortController();
      const answers = [abort.signal, AbortSignal.abort(reason)].map((signal) =>
        model.infer({ ...QUESTION, signal }),
      );
      abort.abort(reason);
      for (const answer of answers) await expect(answer).rejects.toBe(reason);
      asInferResult(name, await model.infer(QUESTION));
      await model.close();
    });

    describeAnswers(name, () => createEngine().load(checkpoint));

    it("goes on from a checkpoint", async () => {
      const more = await run({ model: checkpoint, maxSteps: 1 });
      const last = logsOf(trained).at(-1)?.loss ?? NaN;
      expect(logsOf(more)[0]?.loss).toBeLessThan(last + 1);
    });

    it("goes on from another job's newest checkpoint as if it had never stopped", async () => {
      const options = { maxSteps: 9, saveSteps: 2, loggingSteps: 3, evalSplit: 0.25, evalSteps: 4 };
      const [abort, reason] = [new AbortController(), new Error("interrupted")];
      const { signal } = abort;
      const interrupted = await run(options, {
        signal,
        onEvent: ({ event, data }) => {
          if (event === "checkpoint.saved" && data.step === 4) abort.abort(reason);
        },
      });
      expect(interrupted.error).toBe(reason);
      const resumeFrom = join(interrupted.directory, "artifacts/step-4");
      const [whole, more] = [await run(options), await run(options, { resumeFrom })];
      expect(more.error).toBeUndefined();
      const timeless = (some: Run) => logsOf(some).map(({ tokensPerSecond: _, ...log }) => log);
      const later = timeless(whole).filter(({ step }) => step > 4);
      expect(later.map(({ step }) => step)).toEqual([6, 8, 9]);
      expect(timeless(more)).toEqual(later);
      expect(Object.keys(more.saved)).toEqual([6, 8, 9].map((step) => `artifacts/step-${step}`));
      expect(weightsOf(more)).toEqual(weightsOf(whole));
      const other = { model: { ...SHAPE, width: 24 } };
      expect((await run({ ...options, ...other }, { resumeFrom })).error).toBeInstanceOf(Error);
    });

    it("refuses a folder without a checkpoint, to answer from and to train", async () => {
      const folder = scratch.directory();
      await expect(createEngine().load(folder)).rejects.toMatchObject({
        name: "KitError",
        code: "CHECKPOINT_INVALID",
      });
      const { error, events } = await run({ model: folder });
      expect([error, events]).toEqual([expect.objectContaining({ name: "KitError" }), []]);
    });
  });
}

/** Weights of the last step, in base64. */
function weightsOf({ directory, saved }: Run): string {
  const path = Object.keys(saved).at(-1) ?? "";
  return readFileSync(join(directory, path, "model.safetensors"), "base64");
}

/** Names of what lies among a job's artifacts, but for the records of those that are kept elsewhere. */
function savedIn(directory: string): string[] {
  const path = join(directory, "artifacts");
  const names = existsSync(path) ? readdirSync(path) : [];
  return names.filter((name) => !name.endsWith(".stored.json"));
}

/** As `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers() {
  let resolve!: (value: unknown) => void;
  const promise = new Promise<unknown>((settle) => (resolve = settle));
  return { promise, resolve };
}
