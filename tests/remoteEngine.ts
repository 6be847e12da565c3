import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withDefaults } from "../engines/training/defaults.ts";
import type { Engine, TrainOptions } from "../protocol/engine.ts";
import { KitError } from "../protocol/error.ts";
import type { EngineEvent } from "../protocol/event.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";

const POLL_MS = 10;

/** The folder that stands for the other machines: a test writes in it what happens there. */
export function openRemote(folder: string) {
  const at = (name: string) => join(folder, name);
  mkdirSync(folder, { recursive: true });
  return {
    /** All jobs have come to this step. */
    train: (step: number) => writeFileSync(at("step"), String(step)),
    /** Jobs are on their way there until they may arrive. */
    hold: () => writeFileSync(at("held"), ""),
    letArrive: () => rmSync(at("held")),
    /** No job is taken any more. */
    refuse: () => writeFileSync(at("refused"), ""),
    /** Checkpoints stay there until they are fetched. */
    keep: () => writeFileSync(at("keeps"), ""),
    /** This machine cannot load what has not been there. */
    refuseHere: () => writeFileSync(at("pythonless"), ""),
    /** Orders to stop are not heard. */
    deafen: () => writeFileSync(at("deaf"), ""),
    /** What is asked is not answered, and its asker waits. */
    hang: () => writeFileSync(at("hung"), ""),
    answer: () => rmSync(at("hung"), { force: true }),
    /** Nothing answers any more. */
    lose: () => writeFileSync(at("lost"), ""),
    /** The ids of the jobs that were stopped there. */
    isStopped: (id: string) => existsSync(at(`${id}.stopped`)),
  };
}

/** An engine whose trainings go on in a folder, whatever becomes of the process that began them. */
export function createRemoteEngine(folder: string): Engine {
  const at = (name: string) => join(folder, name);
  const assertThere = () => {
    if (existsSync(at("lost"))) throw new KitError("CLUSTER_UNREACHABLE", "Nothing answers.");
  };

  async function follow(options: Omit<TrainOptions, "onRemote">, seen: number): Promise<void> {
    const { config, directory, signal, detachSignal, onEvent } = options;
    const id = basename(directory);
    for (let next = seen; ; await delay(POLL_MS)) {
      while (existsSync(at("hung"))) await delay(POLL_MS);
      if (signal.aborted && existsSync(at("deaf"))) {
        throw new KitError("CLUSTER_UNREACHABLE", "Nothing answers.");
      }
      if (signal.aborted) writeFileSync(at(`${id}.stopped`), "");
      signal.throwIfAborted();
      detachSignal?.throwIfAborted();
      assertThere();
      if (!existsSync(at(id))) throw new KitError("WORKER_FAILED", `The job ${id} is unknown.`);
      const step = existsSync(at("step")) ? Number(readFileSync(at("step"), "utf8")) : 0;
      for (const event of eventsUpTo(step, config).slice(next)) {
        save(event, directory, existsSync(at("keeps")));
        onEvent(event);
        next++;
      }
      if (step >= (config.maxSteps ?? 0)) return;
    }
  }

  return {
    name: "remote",
    prepare: (asked) => withDefaults(asked, { name: "remote" }),
    check: () => Promise.reject(new Error("not remote")),
    // oxlint-disable-next-line typescript/require-await -- so that an error rejects
    async load(directory) {
      const text = basename(directory);
      if (existsSync(at("pythonless")) && !text.startsWith("step-")) {
        throw new KitError("PYTHON_NOT_FOUND", "There is no Python here.");
      }
      const answer = { text, finishReason: "stop" as const, promptTokens: 1, tokens: 1 };
      return { infer: () => Promise.resolve(answer), close: () => Promise.resolve() };
    },
    async train(options) {
      const id = basename(options.directory);
      assertThere();
      while (existsSync(at("held"))) await delay(POLL_MS);
      options.onRemote?.({ where: "the far cluster", address: folder, checkpoints: `/far/${id}` });
      if (existsSync(at("refused"))) throw new KitError("CLUSTER_UNFIT", "It takes no job.");
      writeFileSync(at(id), "");
      await follow(options, 0);
    },
    remote: {
      // oxlint-disable-next-line typescript/require-await -- so that an error rejects
      reach: async () => assertThere(),
      follow: ({ seen, location: _, ...options }) => follow(options, seen),
      // oxlint-disable-next-line typescript/require-await -- so that an error rejects
      async fetch({ directory, onProgress, onNote }) {
        assertThere();
        if (onProgress) onProgress({ bytes: 2, totalBytes: 2 });
        else onNote?.(`downloading ${basename(directory)}`);
        mkdirSync(directory);
        writeFileSync(join(directory, "config.json"), "{}");
      },
    },
  };
}

/** What a training to a step has reported; its evalLoss is lowest at step 2. */
function eventsUpTo(last: number, { maxSteps = 0, saveSteps }: TrainConfig): EngineEvent[] {
  const started = { model: "far", parameters: 1, rows: 1, maxSteps };
  const steps = Array.from({ length: Math.min(last, maxSteps) }, (_, i) => i + 1);
  const events = steps.flatMap((step): EngineEvent[] => {
    const evalLoss = Math.abs(step - 2) + 1;
    const log: EngineEvent = { event: "training.log", data: { step, loss: 1 / step, evalLoss } };
    const path = `artifacts/step-${step}`;
    if (step % saveSteps !== 0 && step !== maxSteps) return [log];
    return [log, { event: "checkpoint.saved", data: { step, kind: "model", path } }];
  });
  return [{ event: "training.started", data: started }, ...events];
}

function save(event: EngineEvent, directory: string, isKeptThere: boolean): void {
  if (event.event !== "checkpoint.saved") return;
  const path = join(directory, event.data.path);
  mkdirSync(isKeptThere ? dirname(path) : path, { recursive: true });
  if (isKeptThere) writeFileSync(`${path}.stored.json`, "{}");
}
