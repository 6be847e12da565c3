// A team's threads make the same calls in the same order on one shared memory and synchronize at barriers.
// Each thread has an instance of its own, and so its own globals.

/**
 * JavaScript's `Atomics`, because Node 20 loses wake-ups of `memory.atomic.notify`, even if both sides are WebAssembly.
 */
// @ts-ignore: decorator
@external("env", "sleep")
declare function sleep(word: usize, value: i32): void;
// @ts-ignore: decorator
@external("env", "wake")
declare function wake(word: usize): void;

/** Bytes between shared words: a cache line each. */
const LINE: usize = 64;
/** Maximum operations between two barriers. */
const OPERATIONS: i32 = 16;
/** Polls of a barrier before a thread sleeps: some 20 µs, longer than most waits. */
const MAX_POLLS: i32 = 20000;

/** The control block: threads that have arrived, the barrier's generation, then a work counter for each operation. */
let arrived: usize = 0;
let generation: usize = 0;
let counters: usize = 0;

let threads: i32 = 1;
let operation: i32 = 0;

/** This thread's own scratch memory. */
export let threadScratch: usize = 0;

/** Bytes of the control block. */
export const CONTROL_BYTES: i32 = (2 + OPERATIONS) * 64;

/** Makes this instance one of `count` threads. */
export function join(count: i32, control: usize, ownScratch: usize): void {
  threads = count;
  arrived = control;
  generation = control + LINE;
  counters = control + 2 * LINE;
  threadScratch = ownScratch;
}

/** Begins an operation whose work threads claim. @returns its counter, which is 0 */
export function begin(): usize {
  if (operation == OPERATIONS) unreachable();
  operation++;
  return counters + <usize>(operation - 1) * LINE;
}

/** The next unclaimed unit of work: 0, 1, 2 … */
// @ts-ignore: decorator
@inline
export function claim(counter: usize): i32 {
  return atomic.add<i32>(counter, 1);
}

/** Waits for all threads, whose writes are visible afterwards. */
export function barrier(): void {
  const number = atomic.load<i32>(generation);
  if (atomic.add<i32>(arrived, 1) == threads - 1) return release(number);
  operation = 0;
  wait(generation, number);
}

/** Clears the counters and releases the other threads. */
function release(number: i32): void {
  for (; operation > 0; operation--) atomic.store<i32>(counters + <usize>(operation - 1) * LINE, 0);
  atomic.store<i32>(arrived, 0);
  atomic.store<i32>(generation, number + 1);
  if (threads > 1) wake(generation);
}

/** Waits while a word has a value: polls it, then sleeps. */
export function wait(word: usize, value: i32): void {
  for (let i = 0; i < MAX_POLLS; i++) if (atomic.load<i32>(word) != value) return;
  while (atomic.load<i32>(word) == value) sleep(word, value);
}
