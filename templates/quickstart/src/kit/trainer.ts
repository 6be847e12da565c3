import { createTrainer } from "kit";
import { exactMatch } from "kit/metrics";

export const trainer = createTrainer({
  name: "date-normalizer",
  model: "kit/nano",
  dataset: { type: "jsonl", path: "data/train.jsonl" },
  evalDataset: { type: "jsonl", path: "data/heldout.jsonl" },
  evaluate: { metrics: { exactMatch }, maxTokens: 24 },
  maxSteps: 400,
});
