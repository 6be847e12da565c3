import { parentPort } from "node:worker_threads";
import { help } from "../kernels/team.ts";
import type { DecoderInvitation } from "./decoder.ts";
import { planDecoder } from "./decoderPlan.ts";
import { decoderProgram } from "./decoderProgram.ts";

/** Takes part in a model's answers once it is invited. */
parentPort?.once("message", ({ memory, module, sizes }: DecoderInvitation) => {
  const plan = planDecoder(sizes);
  help(plan.team, module, memory, decoderProgram(plan));
});
