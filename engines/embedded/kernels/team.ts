import type { Arena } from "./arena.ts";
import { type Address, type Kernels, CONTROL_BYTES, SCRATCH_BYTES } from "./kernels.ts";
import { type KernelModule, instantiate } from "./module.ts";

/** Addresses of a team's shared words and scratch memory. */
export interface TeamPlan {
  /** The kernels' control block. */
  control: Address;
  /** The team's words, each on its own cache line. */
  words: Address;
  /** Each thread's own scratch memory. */
  ownScratch: Address[];
  /** Maximum threads, including the leader. */
  threads: number;
}

/** Indices of a team's int32 words: the current job, packed by `jobWord`, and the number of ready helpers. */
const JOB = 0;
const READY = 16;
const WORDS_BYTES = 128;

/** Packs a job into one word, so that helpers read it atomically. @param count number of threads */
function jobWord(number: number, operation: number, count: number): number {
  return ((number & 0x7fff) << 16) | (operation << 8) | count;
}

export function planTeam(arena: Arena, threads: number): TeamPlan {
  return {
    control: arena.reserveBytes("work", CONTROL_BYTES),
    words: arena.reserveBytes("work", WORDS_BYTES),
    ownScratch: Array.from({ length: threads }, () => arena.reserveBytes("work", SCRATCH_BYTES)),
    threads,
  };
}

/** A thread's kernels on the shared memory, and its index. */
export interface Thread {
  kernels: Kernels;
  memory: WebAssembly.Memory;
  /** The leader's is 0. */
  threadIndex: number;
  /** Number of threads in the current job. */
  count: () => number;
}

/** A thread's operations; all threads run them in the same order, and each ends at a barrier. */
export type Program = (thread: Thread) => (() => void)[];

/**
 * Makes this thread the leader, which starts jobs and takes part in them. Helpers join at the next job; their number
 * doesn't change results.
 * @returns a function that runs one of the program's operations on all threads
 */
export function lead(
  plan: TeamPlan,
  module: KernelModule,
  memory: WebAssembly.Memory,
  program: Program,
): (operation: number) => void {
  const kernels = instantiate(module, memory);
  const words = new Int32Array(memory.buffer, plan.words);
  let count = 1;
  let number = 0;
  const operations = program({ kernels, memory, threadIndex: 0, count: () => count });
  return function run(operation) {
    count = 1 + Math.min(Atomics.load(words, READY), plan.threads - 1);
    kernels.join(count, plan.control, plan.ownScratch[0]!);
    Atomics.store(words, JOB, jobWord(++number, operation, count));
    Atomics.notify(words, JOB);
    operations[operation]?.();
  };
}

/** Makes this thread a helper, until it is terminated. */
export function help(
  plan: TeamPlan,
  module: KernelModule,
  memory: WebAssembly.Memory,
  program: Program,
): never {
  const kernels = instantiate(module, memory);
  const words = new Int32Array(memory.buffer, plan.words);
  // Read before the thread is ready, because the leader counts on it in every later job.
  let job = Atomics.load(words, JOB);
  const threadIndex = Atomics.add(words, READY, 1) + 1;
  let count = 1;
  const operations = program({ kernels, memory, threadIndex, count: () => count });
  for (;;) {
    kernels.wait(plan.words, job);
    job = Atomics.load(words, JOB);
    count = job & 0xff;
    if (threadIndex >= count) continue;
    kernels.join(count, plan.control, plan.ownScratch[threadIndex]!);
    operations[(job >> 8) & 0xff]?.();
  }
}
