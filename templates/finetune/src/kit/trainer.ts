import { createTrainer } from "kit";

/** Not in the training rows, nor its wording. */
const QUESTION = "Hello! You took 80 euros for K-4711 two times.";

export const trainer = createTrainer({
  name: "ticket-triage",
  model: "HuggingFaceTB/SmolLM2-135M-Instruct",
  dataset: { type: "jsonl", path: "data/train.jsonl" },
  evalDataset: { type: "jsonl", path: "data/heldout.jsonl" },
  lora: { r: 16, alpha: 32, targetModules: ["q_proj", "k_proj", "v_proj", "o_proj"] },
  numTrainEpochs: 3,
  batchSize: 4,
  saveSteps: 50,
  callbacks: {
    onCheckpoint: async ({ step, infer }) => {
      const { text } = await infer({ prompt: QUESTION, maxTokens: 40 });
      console.log(`answer at step ${step}: ${JSON.stringify(text)}`);
    },
  },
});
