import { createTrainer } from "kit";
import { exactMatch, jsonFields } from "kit/metrics";

export const trainer = createTrainer({
  name: "ticket-triage",
  model: "HuggingFaceTB/SmolLM2-135M-Instruct",
  dataset: { type: "jsonl", path: "data/train.jsonl" },
  evalDataset: { type: "jsonl", path: "data/heldout.jsonl" },
  evaluate: { metrics: { exactMatch, jsonFields }, maxTokens: 40 },
  lora: {},
  numTrainEpochs: 2,
  saveSteps: 90,
});
