import { createTrainer } from "kit";
import { printHeldOut } from "./evaluate.js";

export const trainer = createTrainer({
  name: "date-normalizer",
  model: "kit/nano",
  dataset: { type: "jsonl", path: "data/train.jsonl" },
  evalDataset: { type: "jsonl", path: "data/heldout.jsonl" },
  maxSteps: 400,
  callbacks: {
    onCheckpoint: ({ step, infer }) => printHeldOut(step, infer),
  },
});
