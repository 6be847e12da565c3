import { type MessagePort, parentPort } from "node:worker_threads";
import { help } from "../kernels/team.ts";
import type { DecoderWorkerInit } from "./decoder.ts";
import { planDecoder } from "./decoderPlan.ts";
import { decoderProgram } from "./decoderProgram.ts";

/** Joins a decoder's team once the port delivers its initial data. */
parentPort?.once("message", (port: MessagePort) => {
  port.once("message", ({ memory, module, sizes }: DecoderWorkerInit) => {
    const plan = planDecoder(sizes);
    // From here on, other threads may wait for this one.
    parentPort?.postMessage("joined");
    help(plan.team, module, memory, decoderProgram(plan));
  });
});
