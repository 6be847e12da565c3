// Whole training steps: one for each line of input, and for each a line with its milliseconds; on one
// thread those of the processor.
//   step.js <sizes>
// <sizes> is JSON, a `StepSizes`.
import { createInterface } from "node:readline";
import { type StepSizes, startLearning } from "../engine.ts";

const sizes = JSON.parse(process.argv[2] ?? "{}") as StepSizes;
const { learn } = startLearning(sizes);
// Other work on the machine does not lengthen a thread's processor time.
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
