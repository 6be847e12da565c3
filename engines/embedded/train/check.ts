import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import type { CheckOptions } from "../../../protocol/engine.ts";
import type { HardRow, TrainingCheck } from "../../../protocol/trainingCheck.ts";
import { locateModel } from "../../checkpoint/locateModel.ts";
import type { ExampleSet } from "../../examples/examples.ts";
import { piecesOf } from "../../examples/pieces.ts";
import { assertReadable } from "../../modelFiles/tensors.ts";
import type { Objective } from "../../objectives/objective.ts";
import { objectiveOf } from "../../objectives/objectives.ts";
import { hardestRows } from "../../training/hardestRows.ts";
import { type Inspection, createInspection } from "../../training/inspection.ts";
import { type Preparation, prepareTraining } from "../../training/preparation.ts";
import { createReference } from "../../training/reference.ts";
import { baseOf, initialWeights } from "../../training/startingPoint.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { createLearner } from "../step/learner.ts";
import type { TrainingPlan } from "../step/trainingPlan.ts";
import { planFor } from "./backend.ts";
import { assertConfigFits } from "./leastTraining.ts";
import { startHelper } from "./trainThread.ts";

/** Prepares the data and plans the memory as `train` does; allocates none of it, unless for the loss. */
export async function check({ config, onNote, loss }: CheckOptions): Promise<TrainingCheck> {
  const source = await locateModel(config.model, {
    onNote,
    check: (folder) => assertConfigFits(folder, config.lora),
  });
  const objective = objectiveOf(config);
  const inspection = createInspection(objective.form);
  const prepared = prepareTraining(config, { source, objective, inspection, onNote });
  const { start, data, started } = prepared;
  const plan = planFor(prepared, threadCount(), onNote);
  const { examples } = data.training;
  const first = examples.at(0);
  // Damaged weights stop a training, too. Nothing is kept of them.
  if (start.weights) assertReadable(start.weights);
  // Before the training, every pair has the same loss.
  const isMeasured = loss && !objective.needsReference;
  if (loss && !isMeasured) onNote?.("no row is the hardest: before the training all are alike");
  const hardest = isMeasured && (await measure(prepared, plan, { objective, inspection }));
  return {
    started,
    learnedTokens: learnedIn(examples),
    longestRow: data.dataset.longestRow,
    memoryBytes: plan.arena.sizes().all,
    dataset: inspection.report(),
    ...(hardest && { hardest }),
    firstRow: first.sequences.flatMap((one, i) =>
      piecesOf(one, start.tokenizer, objective.isAvoided?.(first, i)),
    ),
  };
}

/** On all threads, which have ended when this settles. */
async function measure(
  prepared: Preparation,
  plan: TrainingPlan,
  { objective, inspection }: { objective: Objective; inspection: Inspection },
): Promise<HardRow[]> {
  const { config, start, data } = prepared;
  const { promptStyle } = data.dataset;
  const channels = Array.from({ length: threadCount() - 1 }, () => new MessageChannel());
  const helpers = channels.map(({ port2 }) => startHelper(port2));
  // Keeps the base of an adapter that is on no disk yet.
  const directory = mkdtempSync(join(tmpdir(), "kit-check-"));
  try {
    const { shape, origin, tokenizerOrigin } = start;
    const notes = { shape, origin, tokenizerOrigin, promptStyle };
    const weights = initialWeights(config, start, baseOf(start, directory), notes);
    const backend = createLearner(
      plan,
      { ...weights, moments: undefined },
      { invite: (invitation) => channels.forEach(({ port1 }) => port1.postMessage(invitation)) },
    );
    const { maxLength } = prepared;
    const learning = { backend, objective, reference: createReference(backend), maxLength };
    return await hardestRows(prepared, learning, inspection.placeOf);
  } finally {
    await Promise.all(helpers.map((helper) => helper.terminate()));
    rmSync(directory, { recursive: true, force: true });
  }
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
