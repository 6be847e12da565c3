// Whole training steps: one for each line of input, and for each a line with its milliseconds.
//   step.js <sizes>
// <sizes> is JSON, a `StepSizes`.
import { createInterface } from "node:readline";
import { type StepSizes, startLearning } from "../engine.ts";

const { learn } = startLearning(JSON.parse(process.argv[2] ?? "{}") as StepSizes);
createInterface({ input: process.stdin }).on("line", () => {
  const start = performance.now();
  learn();
  console.log(performance.now() - start);
});
