import { onTestFailed } from "vitest";

/** Numbers from 0 to below 1, the same for the same seed, which a failing test prints. */
export function createRandom(): () => number {
  const seed = Number(process.env.KIT_SEED ?? Math.trunc(Math.random() * 2 ** 32));
  onTestFailed(() => console.error(`Run it again with KIT_SEED=${seed}`));
  let state = seed;
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
