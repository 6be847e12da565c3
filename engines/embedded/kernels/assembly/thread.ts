// Threads of a team run the same calls in the same order on one shared memory, and meet at barriers.
// Globals are an instance's own, and so a thread's own.

/**
 * Sleep and wake by JavaScript's `Atomics`: Node 20 loses the wake-ups of `memory.atomic.notify`,
 * also where both are WebAssembly's.
 */
// @ts-ignore: decorator
@external("env", "sleep")
declare function sleep(word: usize, value: i32): void;
// @ts-ignore: decorator
@external("env", "wake")
declare function wake(word: usize): void;

/** Bytes from one shared word to the next, so that no two share a cache line. */
const LINE: usize = 64;
/** Operations between two barriers, at most. */
const OPERATIONS: i32 = 16;
/** Looks at a barrier before a thread sleeps: some 20 µs, longer than most waits. */
const SPINS: i32 = 20000;

/** The control block: how many have arrived, the meeting's number, then a counter an operation. */
let arrived: usize = 0;
let meeting: usize = 0;
let counters: usize = 0;

let threads: i32 = 1;
let operation: i32 = 0;

/** This thread's own scratch memory. */
export let own: usize = 0;

/** Bytes of the control block. */
export const CONTROL_BYTES: i32 = (2 + OPERATIONS) * 64;

/** Makes this instance one of `count` threads. */
export function join(count: i32, control: usize, ownScratch: usize): void {
  threads = count;
  arrived = control;
  meeting = control + LINE;
  counters = control + 2 * LINE;
  own = ownScratch;
}

/** Begins an operation whose work is claimed. Answers its counter, which is 0. */
export function begin(): usize {
  if (operation == OPERATIONS) unreachable();
  operation++;
  return counters + <usize>(operation - 1) * LINE;
}

/** The next piece of work that nobody has claimed: 0, 1, 2 … */
// @ts-ignore: decorator
@inline
export function claim(counter: usize): i32 {
  return atomic.add<i32>(counter, 1);
}

/** Waits until every thread is here; what each has written, all see. */
export function barrier(): void {
  const number = atomic.load<i32>(meeting);
  if (atomic.add<i32>(arrived, 1) == threads - 1) return open(number);
  operation = 0;
  wait(meeting, number);
}

/** The last to arrive clears the counters and lets the others go. */
function open(number: i32): void {
  for (; operation > 0; operation--) atomic.store<i32>(counters + <usize>(operation - 1) * LINE, 0);
  atomic.store<i32>(arrived, 0);
  atomic.store<i32>(meeting, number + 1);
  if (threads > 1) wake(meeting);
}

/** Waits while a word has a value: spins a little, then sleeps. */
export function wait(word: usize, value: i32): void {
  for (let i = 0; i < SPINS; i++) if (atomic.load<i32>(word) != value) return;
  while (atomic.load<i32>(word) == value) sleep(word, value);
}
