import { createTrainer } from "kit";
import { exactMatch, jsonFields } from "kit/metrics";

export const trainer = createTrainer({
  name: "ticket-triage",
  model: "HuggingFaceTB/SmolLM2-135M-Instruct",
  dataset: { type: "jsonl", path: "data/train.jsonl" },
  evalDataset: { type: "jsonl", path: "data/heldout.jsonl" },
  evaluate: { metrics: { exactMatch, jsonFields }, maxTokens: 40 },
  lora: { r: 16, alpha: 32, targetModules: ["q_proj", "k_proj", "v_proj", "o_proj"] },
  numTrainEpochs: 3,
  batchSize: 4,
  saveSteps: 50,
});
