import { type MessagePort, parentPort } from "node:worker_threads";
import { help } from "../kernels/team.ts";
import type { TrainingWorkerInit } from "./learner.ts";
import { planTraining } from "./trainingPlan.ts";
import { trainingProgram } from "./trainingProgram.ts";

/** Joins the training team once the port delivers its initial data. */
parentPort?.once("message", (port: MessagePort) => {
  port.once("message", ({ memory, module, sizes }: TrainingWorkerInit) => {
    const plan = planTraining(sizes);
    help(plan.team, module, memory, trainingProgram(plan));
  });
});
