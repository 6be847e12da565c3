import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Engine, type TrainerOptions, loadModel } from "kit";
import { describe, expect, expectTypeOf, it } from "vitest";
import type * as families from "../../engines/families/projections.ts";
import type { Projection } from "../../sdk/engine.ts";
import { createSeparateEngine } from "../engines/separate/engine.ts";
import { createTinyTrainer, enterProject, readEvents, statusOf } from "./project.ts";

type Callbacks = Required<NonNullable<TrainerOptions["callbacks"]>>;

/** The callbacks of a run, with the fields of what each one gets. */
function recordCalls() {
  const calls: string[] = [];
  const record = (name: string) => (context: object) =>
    void calls.push(`${name}(${Object.keys(context).join()})`);
  const callbacks: Callbacks = {
    onStarted: record("onStarted"),
    onLog: record("onLog"),
    onCheckpoint: record("onCheckpoint"),
    onEvaluated: record("onEvaluated"),
    onCompleted: record("onCompleted"),
    onFailed: record("onFailed"),
    onCancelled: record("onCancelled"),
  };
  return { calls, callbacks };
}

/** Trains a job to its end; what others see of it. */
async function trainWith(engine: Engine | undefined) {
  const project = enterProject();
  const { calls, callbacks } = recordCalls();
  const trainer = createTinyTrainer({ ...(engine && { engine }), callbacks });
  const { jobId } = await trainer.start();
  const result = await trainer.wait().catch((error: unknown) => ({ error, artifacts: [] }));
  const job = JSON.parse(readFileSync(join(project, ".kit/jobs", jobId, "job.json"), "utf8")) as {
    config: { engine: object };
  };
  return {
    ...job,
    ...result,
    calls,
    status: statusOf(project, jobId),
    log: readEvents(project, jobId),
  };
}

it("an editor offers the adapter targets that the default engine has", () => {
  expectTypeOf<Projection>().toEqualTypeOf<families.Projection>();
});

describe("a trainer with an engine of its own", () => {
  it("logs its downloads until the training starts, and no other notes", async () => {
    const separate = createSeparateEngine();
    const engine: Engine = {
      ...separate,
      train({ onNote, onEvent, ...options }) {
        onNote?.("warning: slow");
        onNote?.("downloading a/b: 4 MB of 9 MB");
        return separate.train({
          ...options,
          onNote,
          onEvent(event) {
            onEvent(event);
            onNote?.("downloading too late");
          },
        });
      },
    };
    const { log } = await trainWith(engine);
    expect(log.filter(({ event }) => event === "training.preparing")).toMatchObject([
      { data: { doing: "downloading a/b: 4 MB of 9 MB" } },
    ]);
  });

  it("logs a save that takes long", async () => {
    const separate = createSeparateEngine();
    const engine: Engine = {
      ...separate,
      async train({ directory, onNote, ...options }) {
        onNote?.("saving step 2");
        const log = () => readFileSync(join(directory, "events.ndjson"), "utf8");
        await expect.poll(log).toContain('{"doing":"saving step 2"}');
        await separate.train({ ...options, directory });
      },
    };
    const { log } = await trainWith(engine);
    expect(log.map(({ event }) => event)).toContain("training.completed");
  });

  it("fails a job whose engine ends and has saved nothing", async () => {
    const engine: Engine = { ...createSeparateEngine(), train: () => Promise.resolve() };
    expect(await trainWith(engine)).toMatchObject({
      error: {
        message: expect.stringMatching(/^The engine separate ended without a checkpoint\. /),
      },
      status: { job: { status: "failed" } },
    });
  });

  it("has the log, the callbacks and the artifacts of any other, and its engine in job.json", async () => {
    const embedded = await trainWith(undefined);
    const { config, artifacts, calls, log } = await trainWith(createSeparateEngine());
    expect(config.engine).toEqual({ name: "separate" });
    expect(embedded.config.engine).toMatchObject({ name: "embedded" });
    // It measures something besides.
    expect(calls.map((call) => call.replace(",metrics)", ")"))).toEqual(embedded.calls);
    const heads = (events: typeof log) => events.map(({ event, data }) => [event, data["step"]]);
    expect(heads(log)).toEqual(heads(embedded.log));
    expect(artifacts.map(({ path }) => path)).toEqual(embedded.artifacts.map(({ path }) => path));
    const model = await loadModel(artifacts.at(-1)?.directory ?? "", {
      engine: createSeparateEngine(),
    });
    expect(await model.infer({ prompt: "1", maxTokens: 1 })).toMatchObject({ tokens: 1 });
    await model.close();
  });

  it.each([
    ["an event that no job has", { event: "training.completed", data: { artifacts: [] } }],
    [
      "a checkpoint outside of the job",
      { event: "checkpoint.saved", data: { step: 1, kind: "model", path: "../x" } },
    ],
    ["a loss that is a text", { event: "training.log", data: { step: 1, loss: "low" } }],
  ])("fails the job when the engine reports %s", async (_, lie) => {
    const engine: Engine = {
      ...createSeparateEngine(),
      name: "liar",
      async train({ onEvent }) {
        onEvent(lie as never);
        await Promise.resolve();
      },
    };
    const { status, calls, log } = await trainWith(engine);
    const message = expect.stringMatching(/^The engine liar reported .*, which is not an event of/);
    expect(log).toMatchObject([{ event: "training.failed", data: { error: message } }]);
    expect(status).toMatchObject({ job: { status: "failed" }, error: message });
    expect(calls).toEqual(["onFailed(job,error)"]);
  });

  it("fails the job when a checkpoint's answer is not one", async () => {
    const engine: Engine = {
      ...createSeparateEngine(),
      load: () =>
        Promise.resolve({
          infer: () => Promise.resolve({ text: 7 } as never),
          close: () => Promise.resolve(),
        }),
    };
    enterProject();
    const trainer = createTinyTrainer({
      engine,
      callbacks: { onCheckpoint: async ({ infer }) => void (await infer({ prompt: "1" })) },
    });
    await expect(trainer.wait()).rejects.toMatchObject({
      code: "ENGINE_REPORT_INVALID",
      message: expect.stringMatching(/^The engine separate answered {"text":7}, which is not an/),
    });
  });
});
