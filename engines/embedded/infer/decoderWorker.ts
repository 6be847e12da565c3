import { type MessagePort, parentPort } from "node:worker_threads";
import { help } from "../kernels/team.ts";
import type { DecoderInvitation } from "./decoder.ts";
import { planDecoder } from "./decoderPlan.ts";
import { decoderProgram } from "./decoderProgram.ts";

/** Takes part in a model's answers once it is invited through the port that it is given. */
parentPort?.once("message", (seat: MessagePort) => {
  seat.once("message", ({ memory, module, sizes }: DecoderInvitation) => {
    const plan = planDecoder(sizes);
    // From here on, others may wait for it.
    parentPort?.postMessage("joined");
    help(plan.team, module, memory, decoderProgram(plan));
  });
});
