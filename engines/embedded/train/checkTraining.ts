import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import type { HardRow, TrainingCheck } from "../../../protocol/trainingCheck.ts";
import type { ExampleSet } from "../../examples/examples.ts";
import { segmentsOf } from "../../examples/segments.ts";
import type { LocatedModel } from "../../families/modelSource.ts";
import { assertReadable } from "../../modelFiles/tensors.ts";
import { objectiveOf } from "../../objectives/objectives.ts";
import { createInspection, hardestRows } from "../../training/inspection.ts";
import { type Preparation, prepareTraining } from "../../training/preparation.ts";
import { createReference } from "../../training/reference.ts";
import { baseOf, initialWeights } from "../../training/startingPoint.ts";
import { type Learner, createLearner } from "../step/learner.ts";
import type { TrainingPlan } from "../step/trainingPlan.ts";
import { type Team, planFor } from "./backend.ts";

interface Options extends Pick<Team, "threads" | "onNote"> {
  config: TrainConfig;
  /** The config's model. */
  source: LocatedModel;
  /** If set, also measures losses, on this thread and its helpers. */
  measuring?: Pick<Team, "initWorkers"> & { directory: string };
}

/** Checks a training run on this thread. */
export async function checkTraining({
  config,
  source,
  onNote,
  threads,
  measuring,
}: Options): Promise<TrainingCheck> {
  const objective = objectiveOf(config);
  const inspection = createInspection(objective.format);
  const prepared = prepareTraining(config, { source, objective, inspection, onNote });
  const { start, data, started, maxLength } = prepared;
  const plan = planFor(prepared, threads, onNote);
  const { examples } = data.training;
  const first = examples.at(0);
  // Training would fail on damaged weights.
  if (start.weights) assertReadable(start.weights);
  let hardest: HardRow[] | undefined;
  if (measuring) {
    const backend = startLearner(prepared, plan, measuring);
    const context = { backend, objective, reference: createReference(backend), maxLength };
    hardest = await hardestRows(prepared, context, { locationOf: inspection.locationOf, onNote });
  }
  return {
    started,
    learnedTokens: learnedIn(examples),
    longestRow: data.dataset.longestRow,
    memoryBytes: plan.arena.sizes().all,
    dataset: inspection.report(),
    ...(hardest && { hardest }),
    firstRow: first.sequences.flatMap((sequence, i) =>
      segmentsOf(sequence, start.tokenizer, objective.isPenalized?.(first, i)),
    ),
  };
}

function startLearner(
  { config, start, data }: Preparation,
  plan: TrainingPlan,
  { initWorkers, directory }: NonNullable<Options["measuring"]>,
): Learner {
  const { shape, origin, tokenizerOrigin } = start;
  const metadata = { shape, origin, tokenizerOrigin, promptStyle: data.dataset.promptStyle };
  const weights = initialWeights(config, start, baseOf(start, directory), metadata);
  return createLearner(plan, { ...weights, moments: undefined }, { initWorkers });
}

function learnedIn(examples: ExampleSet): number {
  let count = 0;
  for (let index = 0; index < examples.length; index++) {
    for (const { learned } of examples.at(index).sequences) {
      for (const flag of learned) count += flag;
    }
  }
  return count;
}
