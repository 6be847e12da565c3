// A helper thread of `team.ts`: joins one team after another, and makes the calls it is sent, in their order.
import { parentPort } from "node:worker_threads";

/** The scores of a page's positions. */
const PAGE_BYTES = 16 * 4;

const { instantiate } = await import(
  new URL("../../../../dist/engines/embedded/kernels/module.js", import.meta.url).href
);

let team;
parentPort.on("message", ({ threads, calls, ...joined }) => {
  if (joined.module) {
    team = { ...joined, kernels: instantiate(joined.module, joined.memory) };
    return;
  }
  const { kernels, memory, control, own, index } = team;
  kernels.join(threads, control, own);
  for (const [name, ...args] of calls) {
    // Kernels whose scratch memory is each thread's own.
    if (name === "attendBack") args[13] += index * scratchBytes(memory, args[0], args[7]);
    if (name === "attendPages") args[14] += index * args[11] * PAGE_BYTES;
    kernels[name](...args);
  }
  kernels.barrier();
});

/** What the longest sequence's probabilities take: whole vectors a line. */
function scratchBytes(memory, sequences, at) {
  const offsets = new Int32Array(memory.buffer, at, sequences + 1);
  const longest = offsets.reduce(
    (most, end, i) => Math.max(most, end - (offsets[i - 1] ?? end)),
    0,
  );
  return longest * Math.ceil(longest / 4) * 4 * 4;
}
