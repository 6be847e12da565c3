// A helper thread of `team.ts`: makes the calls it is sent, in their order.
import { parentPort, workerData } from "node:worker_threads";

/** The scores of a page's positions. */
const PAGE_BYTES = 16 * 4;

const { instantiate } = await import(
  new URL("../../../../dist/engines/embedded/kernels/module.js", import.meta.url).href
);

const { module, memory, control, own, threadIndex } = workerData;
const kernels = instantiate(module, memory);
parentPort.on("message", ({ threads, calls }) => {
  kernels.join(threads, control, own);
  for (const [name, ...args] of calls) {
    // Kernels whose scratch memory is each thread's own.
    if (name === "attendBack") args[13] += threadIndex * scratchBytes(args[0], args[7]);
    if (name === "attendPages") args[14] += threadIndex * args[11] * PAGE_BYTES;
    kernels[name](...args);
  }
  kernels.barrier();
});

/** What the longest sequence's probabilities take: whole vectors a line. */
function scratchBytes(sequences, at) {
  const offsets = new Int32Array(memory.buffer, at, sequences + 1);
  const longest = offsets.reduce(
    (most, end, i) => Math.max(most, end - (offsets[i - 1] ?? end)),
    0,
  );
  return longest * Math.ceil(longest / 4) * 4 * 4;
}
