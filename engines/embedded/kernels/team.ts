import type { Arena } from "./arena.ts";
import { type Address, type Kernels, CONTROL_BYTES, OWN_BYTES } from "./kernels.ts";
import { type KernelModule, instantiate } from "./module.ts";

/** Where a team's shared words and scratch memory lie. */
export interface TeamPlan {
  /** The kernels' control block. */
  control: Address;
  /** The team's own words, each on a line of its own. */
  words: Address;
  /** Each thread's own scratch memory. */
  ownScratch: Address[];
  /** Threads at most, the leader among them. */
  threads: number;
}

/**
 * A team's int32 words, by their place: the job, as `jobWord` packs it, and the helpers that are
 * ready. Each has a cache line.
 */
const JOB = 0;
const READY = 16;
const WORDS_BYTES = 128;

/** One word, so that a helper never sees parts of two jobs. */
function jobWord(number: number, operation: number, count: number): number {
  return ((number & 0x7fff) << 16) | (operation << 8) | count;
}

export function planTeam(arena: Arena, threads: number): TeamPlan {
  return {
    control: arena.bytes("work", CONTROL_BYTES),
    words: arena.bytes("work", WORDS_BYTES),
    ownScratch: Array.from({ length: threads }, () => arena.bytes("work", OWN_BYTES)),
    threads,
  };
}

/** A thread's kernels on the shared memory, and its place among the threads. */
export interface Thread {
  kernels: Kernels;
  memory: WebAssembly.Memory;
  /** From 0, which leads. */
  threadIndex: number;
  /** Threads of the current job. */
  count: () => number;
}

/** The operations that all threads run in the same order; each ends at a barrier. */
export type Program = (thread: Thread) => (() => void)[];

/**
 * The thread that starts jobs and does its part of them. Helpers take part from the first job
 * after they have come; how many there are changes no result.
 * @returns a function that runs one of the program's operations on all threads, to its end
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

/** Runs a helper's part of each job until its thread is terminated. */
export function help(
  plan: TeamPlan,
  module: KernelModule,
  memory: WebAssembly.Memory,
  program: Program,
): never {
  const kernels = instantiate(module, memory);
  const words = new Int32Array(memory.buffer, plan.words);
  // Read first: the leader counts on this thread in any job after it is ready.
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
