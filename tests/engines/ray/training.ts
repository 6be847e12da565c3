import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect } from "vitest";
import type { Engine, TrainOptions } from "../../../protocol/engine.ts";
import type { EngineEvent, EventData } from "../../../protocol/event.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { createHarm } from "../../faults/harm.ts";
import { jsonl } from "../embedded/scratch.ts";
import type { Scratch } from "../scratch.ts";
import { TOKEN } from "./environment.ts";

export const SHAPE = { layers: 1, heads: 2, width: 16, context: 48 };
/** Of different lengths, so that a mean over workers is not one over tokens. */
export const ROWS = Array.from({ length: 7 }, (_, i) => ({
  prompt: `${i}`,
  completion: `${i % 2}`.repeat(1 + 3 * (i % 3)),
}));
/** Long enough for something to happen meanwhile. */
export const STEPS = 200;

export interface Listening extends Partial<Pick<TrainOptions, "signal" | "onEvent" | "onNote">> {
  more?: Partial<TrainingOptions>;
  /** Is told the job's id. */
  onStart?: (id: string) => void;
}

export type Trained = Awaited<ReturnType<typeof train>>;
type Harm = ReturnType<typeof createHarm>;
type Step = Pick<EventData["training.log"], "step" | "loss">;

export async function train(
  engine: Engine,
  scratch: Scratch,
  { more, onStart, onEvent, ...listening }: Listening = {},
) {
  const directory = scratch.directory();
  const path = scratch.file("rows.jsonl", jsonl(ROWS));
  const config = engine.prepare({
    ...{ model: SHAPE, dataset: { type: "jsonl", path }, maxSteps: STEPS, batchSize: 4 },
    ...{ learningRate: 0.01, warmupSteps: 2, loggingSteps: 1, saveSteps: 50, ...more },
  });
  expect(JSON.stringify(config)).not.toContain(TOKEN);
  const events: EngineEvent[] = [];
  const id = basename(directory);
  onStart?.(id);
  const ended = engine.train({
    ...{ config, directory, signal: new AbortController().signal, ...listening },
    onEvent(event) {
      events.push(event);
      onEvent?.(event);
    },
  });
  const error = await ended.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  const steps = events.flatMap(({ event, data }) => (event === "training.log" ? [data] : []));
  const saved = events.flatMap(({ event, data }) =>
    event === "checkpoint.saved" ? [data.step] : [],
  );
  return { id, directory, error, steps, saved };
}

/** Each step and checkpoint once, in order, with the same losses; sums in another order drift apart. */
export function expectSame(fault: string, theirs: Trained, ours: Trained) {
  const harm = createHarm(`Ray: ${fault}`);
  harm.status(theirs.error, undefined);
  compareSteps(harm, theirs.steps, ours.steps);
  harm.also(theirs.saved, ours.saved);
  harm.expectNone();
}

/** Each step once, in order, and with the same loss. */
export function compareSteps(harm: Harm, theirs: Step[], ours: Step[]): void {
  harm.events(theirs.map(stepOf), ours.map(stepOf));
  harm.also(theirs.map(stepOf), ours.map(stepOf));
  const near = ours.map(({ loss }) => expect.closeTo(loss ?? NaN, 3) as number);
  harm.also(
    theirs.map(({ loss }) => loss),
    near,
  );
}

export const stepOf = ({ step }: Step): number => step;

/** The processes that train a job on this machine. */
export function workersOf(id: string): number[] {
  const listed = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" });
  return listed
    .split("\n")
    .filter((line) => /^\s*\d+ ray::.*RayTrainWorker/.test(line))
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => jobOf(pid) === id);
}

/** By what lies in the process's folder. */
function jobOf(pid: number): string | undefined {
  try {
    const job = JSON.parse(readFileSync(`/proc/${pid}/cwd/job.json`, "utf8")) as { id?: string };
    return job.id;
  } catch {
    // Another's, or one that has ended.
    return undefined;
  }
}
