import { type MessagePort, parentPort } from "node:worker_threads";
import { help } from "../kernels/team.ts";
import type { HelperInvitation } from "./learner.ts";
import { planTraining } from "./trainingPlan.ts";
import { trainingProgram } from "./trainingProgram.ts";

/** Takes part in a training once it is invited through the port that it is given. */
parentPort?.once("message", (port: MessagePort) => {
  port.once("message", ({ memory, module, sizes }: HelperInvitation) => {
    const plan = planTraining(sizes);
    help(plan.team, module, memory, trainingProgram(plan));
  });
});
