import type { CheckOptions } from "../../../protocol/engine.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import type { ExampleSet } from "../../examples/examples.ts";
import { piecesOf } from "../../examples/pieces.ts";
import { objectiveOf } from "../../objectives/objectives.ts";
import { createInspection } from "../../training/inspection.ts";
import { prepareTraining } from "../../training/preparation.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { planFor } from "./backend.ts";
import { assertConfigFits } from "./leastTraining.ts";

/** Prepares the data and plans the memory as `train` does, but allocates none of it. */
export async function check({ config, onNote }: CheckOptions): Promise<TrainingCheck> {
  const source = await locateModel(config.model, {
    onNote,
    check: (folder) => assertConfigFits(folder, config.lora),
  });
  const objective = objectiveOf(config);
  const inspection = createInspection(objective.form);
  const prepared = prepareTraining(config, { source, objective, inspection, onNote });
  const { start, data, started } = prepared;
  const plan = planFor(prepared, threadCount());
  const { examples } = data.training;
  // Damaged weights stop a training, too.
  if (start.source.kind === "checkpoint") start.read();
  return {
    started,
    learnedTokens: learnedIn(examples),
    longestRow: data.dataset.longestRow,
    memoryBytes: plan.arena.sizes().all,
    dataset: inspection.report(),
    firstRow: examples.at(0).sequences.flatMap((one) => piecesOf(one, start.tokenizer)),
  };
}

function learnedIn(examples: ExampleSet): number {
  let count = 0;
  for (let index = 0; index < examples.length; index++) {
    for (const { learned } of examples.at(index).sequences) {
      for (const one of learned) count += one;
    }
  }
  return count;
}
