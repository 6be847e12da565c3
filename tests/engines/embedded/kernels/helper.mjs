// A helper thread of `team.ts`: makes the calls it is sent, in their order.
import { parentPort, workerData } from "node:worker_threads";

const { instantiate } = await import(
  new URL("../../../../dist/engines/embedded/kernels/module.js", import.meta.url).href
);

const { module, memory, control, own, seat } = workerData;
const kernels = instantiate(module, memory);
parentPort.on("message", ({ threads, calls }) => {
  kernels.join(threads, control, own);
  for (const [name, ...args] of calls) {
    // The one kernel whose scratch memory is each thread's own: the last argument.
    if (name === "attendBack") args[10] += seat * args[1] ** 2 * 4;
    kernels[name](...args);
  }
  kernels.meet();
});
