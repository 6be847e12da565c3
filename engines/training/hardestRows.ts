import type { HardRow } from "../../protocol/trainingCheck.ts";
import constants from "../constants.json" with { type: "json" };
import { piecesOf } from "../examples/pieces.ts";
import type { Preparation } from "./preparation.ts";
import { type Learning, measureBatch } from "./step.ts";

const { mostMeasuredRows, hardestRows: shown } = constants;

/**
 * The examples that a training's starting model finds hardest, of at most 200 from all over the dataset.
 * @param placeOf where a row is, counted from 0 without those that are left out
 */
export async function hardestRows(
  { data, start }: Preparation,
  learning: Learning,
  placeOf: (row: number) => string,
): Promise<HardRow[]> {
  const { examples } = data.training;
  const count = Math.min(mostMeasuredRows, examples.length);
  const losses: { index: number; loss: number }[] = [];
  for (let i = 0; i < count; i++) {
    const index = Math.floor((i * examples.length) / count);
    const { loss } = await measureBatch(learning, [examples.at(index)]);
    // A piece of a text may have nothing to learn.
    if (loss.count > 0) losses.push({ index, loss: loss.sum / loss.count });
  }
  const hardest = losses.toSorted((one, other) => other.loss - one.loss).slice(0, shown);
  return hardest.map(({ index, loss }) => ({
    ...{ where: placeOf(examples.rowAt(index)), loss },
    row: examples.at(index).sequences.flatMap((one) => piecesOf(one, start.tokenizer)),
  }));
}
