import type { CheckOptions } from "../../protocol/engine.ts";
import type { HardRow, TrainingCheck } from "../../protocol/trainingCheck.ts";
import type { ExampleSet } from "../examples/examples.ts";
import { segmentsOf } from "../examples/segments.ts";
import type { LocatedModel } from "../families/modelSource.ts";
import { assertReadable } from "../modelFiles/tensors.ts";
import { objectiveOf } from "../objectives/objectives.ts";
import type { Backend, PlanBackend, PlannedBackend } from "./backend.ts";
import { createInspection, hardestRows } from "./inspection.ts";
import { type Preparation, prepareTraining } from "./preparation.ts";
import { createReference } from "./reference.ts";
import { baseOf, initialWeights } from "./startingPoint.ts";

interface Options extends Pick<CheckOptions, "config" | "onNote"> {
  /** The config's model. */
  source: LocatedModel;
  planBackend: PlanBackend;
  /** If set, also measures losses. A folder for an adapter's base that isn't on disk yet. */
  directory?: string | undefined;
}

/** Whether a check measures losses. */
export function measuresLoss({ config, loss, onNote }: CheckOptions): boolean {
  if (!loss) return false;
  // Before training, every pair has the same loss.
  const isMeasured = !objectiveOf(config).needsReference;
  if (!isMeasured) onNote?.("no hardest rows: before training, all rows have the same loss");
  return isMeasured;
}

/** Checks a training run on any backend, which it starts only to measure losses. */
export async function checkTraining({
  config,
  source,
  planBackend,
  directory,
  onNote,
}: Options): Promise<TrainingCheck> {
  const objective = objectiveOf(config);
  const inspection = createInspection(objective.format);
  const prepared = prepareTraining(config, { source, objective, inspection, onNote });
  const { start, data, started, maxLength } = prepared;
  const planned = await planBackend(prepared);
  const { examples } = data.training;
  const first = examples.at(0);
  // Training would fail on damaged weights.
  if (start.weights) assertReadable(start.weights);
  let hardest: HardRow[] | undefined;
  if (directory !== undefined) {
    const backend = await startBackend(prepared, planned, directory);
    const context = { backend, objective, reference: createReference(backend), maxLength };
    hardest = await hardestRows(prepared, context, { locationOf: inspection.locationOf, onNote });
  }
  return {
    started,
    learnedTokens: learnedIn(examples),
    longestRow: data.dataset.longestRow,
    memoryBytes: planned.memoryBytes,
    ...(planned.onGpu && { onGpu: true }),
    dataset: inspection.report(),
    ...(hardest && { hardest }),
    firstRow: first.sequences.flatMap((sequence, i) =>
      segmentsOf(sequence, start.tokenizer, objective.isPenalized?.(first, i)),
    ),
  };
}

async function startBackend(
  { config, start, data }: Preparation,
  planned: PlannedBackend,
  directory: string,
): Promise<Backend> {
  const { shape, origin, tokenizerOrigin } = start;
  const metadata = { shape, origin, tokenizerOrigin, promptStyle: data.dataset.promptStyle };
  const weights = initialWeights(config, start, baseOf(start, directory), metadata);
  return planned.start({ ...weights, moments: undefined });
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
