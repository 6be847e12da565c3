import type { CheckOptions } from "../../../protocol/engine.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import type { ExampleSet } from "../../examples/examples.ts";
import { piecesOf } from "../../examples/pieces.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { assertConfigFits } from "./leastTraining.ts";
import { prepareTraining } from "./preparation.ts";

/** Prepares the data and plans the memory as `train` does, but allocates none of it. */
export async function check({ config, onNote }: CheckOptions): Promise<TrainingCheck> {
  const source = await locateModel(config.model, {
    onNote,
    check: (folder) => assertConfigFits(folder, config.lora),
  });
  const prepared = prepareTraining(config, { source, threads: threadCount(), onNote });
  const { start, data, plan, started } = prepared;
  const { examples } = data.training;
  // Damaged weights stop a training, too.
  if (start.source.kind === "checkpoint") start.read();
  return {
    started,
    learnedTokens: learnedIn(examples),
    longestRow: data.dataset.longestRow,
    memoryBytes: plan.arena.sizes().all,
    firstRow: piecesOf(examples.at(0), start.tokenizer),
  };
}

function learnedIn(examples: ExampleSet): number {
  let count = 0;
  for (let index = 0; index < examples.length; index++) {
    for (const one of examples.at(index).learned) count += one;
  }
  return count;
}
