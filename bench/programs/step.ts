// Takes a training step for each line of input, and prints its time in ms as JSON; on one thread, processor time.
//   step.js <sizes>   `StepSizes` as JSON
import { createInterface } from "node:readline";
import { type StepSizes, startLearning } from "../engine.ts";
import { now } from "../statistics.ts";

const sizes = JSON.parse(process.argv[2] ?? "{}") as StepSizes;
const { learn } = startLearning(sizes);
createInterface({ input: process.stdin }).on("line", () => {
  const start = now(sizes.threads);
  learn();
  console.log(JSON.stringify({ ms: now(sizes.threads) - start }));
});
