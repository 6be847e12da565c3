// Takes a training step for each line of input, and prints its time in ms; on one thread, processor time.
//   step.js <sizes>   `StepSizes` as JSON
import { createInterface } from "node:readline";
import { type StepSizes, startLearning } from "../engine.ts";

const sizes = JSON.parse(process.argv[2] ?? "{}") as StepSizes;
const { learn } = startLearning(sizes);
// Processor time, because other work on the machine does not lengthen it.
const now = sizes.threads === 1 ? processorTime : () => performance.now();
createInterface({ input: process.stdin }).on("line", () => {
  const start = now();
  learn();
  console.log(now() - start);
});

function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
