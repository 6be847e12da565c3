import { Worker } from "node:worker_threads";
import { onTestFailed } from "vitest";
import type { Kernels } from "../../../../engines/embedded/kernels/kernels.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { builtModule } from "../built.ts";
import { arena, module as compiled, teamOn } from "./arena.ts";

const { instantiate } = await builtModule<typeof modules>("kernels/module.js");

export { difference, numbers } from "../../numbers.ts";

/** A kernel's name and its arguments. */
export type Call = [name: Exclude<keyof Kernels, "join" | "wait">, ...args: number[]];

const MAX_THREADS = 5;

/** Thread counts that every kernel is tested on. */
export const THREADS = [1, 2, 3, 5];

/** A memory with guard words, and threads that make the same calls on it. */
export function team(module = compiled) {
  const memory = arena();
  const { control, own } = teamOn(memory, MAX_THREADS);
  const kernels = instantiate(module, memory.memory);
  const helpers = startedHelpers();
  helpers.forEach((helper, i) =>
    helper.postMessage({ module, memory: memory.memory, control, own: own[i + 1], index: i + 1 }),
  );

  /** Makes the calls on so many threads, and returns when all have made them. */
  function run(threads: number, calls: Call[]) {
    for (const helper of helpers.slice(0, threads - 1)) helper.postMessage({ threads, calls });
    kernels.join(threads, control, own[0] ?? 0);
    for (const [name, ...args] of calls) {
      const kernel = kernels[name] as (...args: number[]) => unknown;
      kernel(...args);
    }
    kernels.barrier();
  }

  return { ...memory, run, own, kernels };
}

let idle: Worker[] | undefined;

/** Helpers for one test at a time, which the next takes over unless it fails: they may wait for one another. */
function startedHelpers(): Worker[] {
  const helpers = idle ?? Array.from({ length: MAX_THREADS - 1 }, startHelper);
  idle = helpers;
  onTestFailed(async () => {
    idle = undefined;
    await Promise.all(helpers.map((helper) => helper.terminate()));
  });
  return helpers;
}

function startHelper(): Worker {
  const helper = new Worker(new URL("./helper.mjs", import.meta.url), { execArgv: [] });
  helper.unref();
  return helper;
}

export type Team = ReturnType<typeof team>;

/** For comparisons to the bit. */
export function bytesOf(view: Float32Array): string {
  return Buffer.from(Float32Array.from(view).buffer).toString("base64");
}
