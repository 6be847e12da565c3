import { formatCount } from "../../protocol/format.ts";
import type { HardRow } from "../../protocol/trainingCheck.ts";
import constants from "../constants.json" with { type: "json" };
import { piecesOf } from "../examples/pieces.ts";
import type { Preparation } from "./preparation.ts";
import { type Learning, measureBatch } from "./step.ts";

const { mostMeasuredRows, hardestRows: shown } = constants;

/** Between two notes, in ms. */
const NOTE_EVERY_MS = 10_000;

interface Options {
  /** Where a row is, counted from 0 without those that are left out. */
  placeOf: (row: number) => string;
  onNote?: ((text: string) => void) | undefined;
}

/** The examples that a training's starting model finds hardest, of at most 200 from all over the dataset. */
export async function hardestRows(
  { data, start }: Preparation,
  learning: Learning,
  { placeOf, onNote = () => undefined }: Options,
): Promise<HardRow[]> {
  const { examples } = data.training;
  const count = Math.min(mostMeasuredRows, examples.length);
  const losses: { index: number; loss: number }[] = [];
  onNote(`measuring the loss of ${formatCount(count)} examples`);
  let notedAt = performance.now();
  for (let i = 0; i < count; i++) {
    if (performance.now() - notedAt > NOTE_EVERY_MS) {
      notedAt = performance.now();
      onNote(`measuring the loss: ${i} of ${formatCount(count)} examples`);
    }
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
