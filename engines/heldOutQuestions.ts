import type { DatasetPath, DatasetRow } from "../protocol/dataset.ts";
import type { LoadOptions } from "../protocol/engine.ts";
import { KitError, messageOf } from "../protocol/error.ts";
import type { HeldOutQuestions, QuestionChoice } from "../protocol/metric.ts";
import { type TrainConfig, isPretrained } from "../protocol/trainConfig.ts";
import { locateModel } from "./checkpoint/locateModel.ts";
import { chosenRows, heldOutRows } from "./dataset/heldOut.ts";
import { type Row, ROW_FORM } from "./dataset/row.ts";
import { rowLimit } from "./dataset/rowLimit.ts";
import { readRows } from "./dataset/rows.ts";
import { objectiveOf } from "./objectives/objectives.ts";
import { createRandom } from "./random.ts";
import { findStartingPoint } from "./training/startingPoint.ts";
import { readDataset } from "./training/tokenizedDataset.ts";

/**
 * Chooses held-out rows by the seed: of `evalDataset`, or of what `evalSplit` sets aside.
 * @param config of files that engines read as they are
 * @throws KitError as of reading them; `OPTION_INVALID` for a split whose rows only another engine can tell
 */
export async function heldOutQuestions(
  config: TrainConfig,
  { most, isAsked, ...options }: QuestionChoice,
): Promise<HeldOutQuestions> {
  const { dataset, evalDataset, seed } = config;
  const isHeldOut = evalDataset ? () => true : await isSetAside(config, options);
  const { path } = evalDataset ?? dataset;
  let [of, unasked] = [0, 0];
  for (const row of rowsAt(config, path, isHeldOut)) {
    if (isAsked(row)) of++;
    else unasked++;
  }
  const isChosen = chosenRows(of, Math.min(most, of), createRandom(seed, "asked"));
  const rows: DatasetRow[] = [];
  let at = 0;
  for (const row of rowsAt(config, path, isHeldOut)) {
    if (isAsked(row) && isChosen[at++] === 1) rows.push(row);
  }
  const reader = await readerOf(config, options);
  return { rows, of, unasked, maxTokens: enoughTokens(rows, reader), endOf: reader.endOf };
}

/** A model that has not learned to stop rambles on. Its answers need not be read to their end. */
const MARGIN = 1.25;

function enoughTokens(rows: readonly DatasetRow[], { tokensOf }: AnswerReader): number {
  const answers = rows.map((row) => ROW_FORM.answersOf?.(row as Row)?.at(-1) ?? "");
  const [own, end] = [Math.max(0, ...answers.map(tokensOf)), 1];
  return Math.ceil(MARGIN * (own + end));
}

interface AnswerReader extends Pick<HeldOutQuestions, "endOf"> {
  /** A count. */
  tokensOf: (text: string) => number;
}

/** Where Kit cannot read the model's tokenizer, it counts a text's bytes, which are no fewer tokens. */
async function readerOf(config: TrainConfig, options: LoadOptions): Promise<AnswerReader> {
  try {
    const source = await locateModel(config.model, options);
    const { tokenizer } = findStartingPoint(source, config);
    const tokensIn = (prompt: string) => tokenizer.promptTokens({ prompt }, "text");
    return {
      tokensOf: (text) => tokensIn(text).length,
      endOf(text) {
        const ends = tokensIn(text).filter(tokenizer.isEnd);
        const places = ends.map((end) => text.indexOf(tokenizer.show([end])));
        return Math.min(text.length, ...places.filter((at) => at >= 0));
      },
    };
  } catch {
    options.signal?.throwIfAborted();
    return { tokensOf: (text) => Buffer.byteLength(text), endOf: (text) => text.length };
  }
}

function* rowsAt(
  config: TrainConfig,
  path: DatasetPath,
  isHeldOut: (row: number) => boolean,
): Generator<DatasetRow> {
  let number = 0;
  const { form } = objectiveOf(config);
  for (const row of readRows(path, form)) {
    const answered = isHeldOut(number++) && form.rightAnswerOf(row);
    if (answered) yield answered;
  }
}

/** Which rows of the dataset are set aside; those that are too long are none of either part. */
async function isSetAside(
  config: TrainConfig,
  options: LoadOptions,
): Promise<(row: number) => boolean> {
  const { dataset, evalSplit = 0, maxLength, model, seed } = config;
  /** Of each row in the file, its number among those that are trained on. */
  const kept: number[] = [];
  let count = 0;
  try {
    const source = await locateModel(model, options);
    const { shape, tokenizer } = findStartingPoint(source, config);
    readDataset(dataset.path, rowLimit(maxLength, shape.context, isPretrained(model)), {
      ...{ objective: objectiveOf(config), tokenizer },
      onRow: ({ isLeftOut }) => void kept.push(isLeftOut ? -1 : count++),
    });
  } catch (cause) {
    throw new KitError(
      "OPTION_INVALID",
      `"evaluate" cannot tell which rows "evalSplit" sets aside: ${messageOf(cause)} Set "evalDataset" in its place.`,
      { cause },
    );
  }
  const marks = heldOutRows(count, evalSplit, seed);
  return (row) => marks[kept[row] ?? -1] === 1;
}
