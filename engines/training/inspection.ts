import { formatCount } from "../../protocol/format.ts";
import type { DatasetReport, HardRow } from "../../protocol/trainingCheck.ts";
import constants from "../constants.json" with { type: "json" };
import type { RowFormat } from "../dataset/rowFormat.ts";
import { segmentsOf } from "../examples/segments.ts";
import type { Span } from "../tokens/tokenizer.ts";
import type { Preparation } from "./preparation.ts";
import { type StepContext, measureBatch } from "./step.ts";

/** A row, as it was read and tokenized for training. */
export interface InspectedRow {
  row: object;
  /** File and line. */
  where: string;
  sequences: readonly (readonly Span[])[];
  isUndesirable: boolean;
  /** Whether it is too long to train on. */
  isSkipped: boolean;
}

/** Answers are listed by kind, as a classifier's are, only within these limits. */
const { maxAnswerKinds: MAX_KINDS, minPerAnswerKind: MIN_PER_KIND } = constants;

/** Collects statistics of a dataset from its rows. */
export interface Inspection {
  /** @param isHeldOut whether the row is for evaluation */
  add: (row: InspectedRow, isHeldOut: boolean) => void;
  report: () => DatasetReport;
  /** File and line of a row, by its index among the rows not skipped. */
  locationOf: (row: number) => string;
}

export function createInspection(format: RowFormat<object>): Inspection {
  const formats = new Map<string, number>();
  const lengths: number[] = [];
  const keptLocations: string[] = [];
  /** Location of the first row with each digest. */
  const locations = new Map<number, string>();
  const duplicates = createPairs();
  const leaked = createPairs();
  let hasHeldOut = false;
  /** Count of each answer, until they are too many kinds. */
  const kinds = new Map<string, number>();
  let answers = 0;
  let objects = 0;
  const broken: string[] = [];

  function addAnswer(text: string, where: string): void {
    answers++;
    if (kinds.size <= MAX_KINDS) kinds.set(text, (kinds.get(text) ?? 0) + 1);
    if (!/^\s*[{[]/.test(text)) return;
    objects++;
    if (!isJson(text)) broken.push(where);
  }

  return {
    locationOf: (row) => keptLocations[row] ?? "",
    add({ row, where, sequences, isUndesirable, isSkipped }, isHeldOut) {
      const digest = digestOf(sequences, isUndesirable);
      const first = locations.get(digest);
      if (isHeldOut) {
        hasHeldOut = true;
        if (first !== undefined) leaked.add(first, where);
        return;
      }
      if (!isSkipped) keptLocations.push(where);
      const name = `{${Object.keys(row).join(", ")}}`;
      formats.set(name, (formats.get(name) ?? 0) + 1);
      lengths.push(Math.max(...sequences.map(lengthOf)));
      if (first === undefined) locations.set(digest, where);
      else duplicates.add(first, where);
      for (const answer of format.answersOf?.(row) ?? []) addAnswer(answer, where);
    },
    report() {
      const sorted = lengths.toSorted((a, b) => a - b);
      const quantile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
      const hasKinds =
        answers > 0 && kinds.size <= MAX_KINDS && answers >= MIN_PER_KIND * kinds.size;
      const byCount = [...kinds].toSorted(([, a], [, b]) => b - a);
      return {
        forms: Object.fromEntries(formats),
        tokens: {
          least: sorted[0] ?? 0,
          median: quantile(0.5),
          p95: quantile(0.95),
          most: sorted.at(-1) ?? 0,
        },
        duplicates: duplicates.report(),
        ...(hasHeldOut && { leaked: leaked.report() }),
        ...(hasKinds && { answers: byCount.map(([text, count]) => ({ text, count })) }),
        // Only if most begin with a bracket, because plain text may, too.
        ...(objects * 2 > answers && {
          json: { answers: objects, broken: broken.length, ...(broken[0] && { first: broken[0] }) },
        }),
      };
    },
  };
}

/** Counts pairs of equal rows and keeps the first pair's locations. */
function createPairs() {
  let rows = 0;
  let first: [string, string] | undefined;
  return {
    add(one: string, other: string): void {
      rows++;
      first ??= [one, other];
    },
    report: () => ({ rows, ...(first && { first }) }),
  };
}

/**
 * A 53-bit hash, made of two 32-bit ones: among a million rows, the chance of a collision is one in ten thousand.
 * A cryptographic hash would take longer than tokenizing.
 */
function digestOf(sequences: InspectedRow["sequences"], isUndesirable: boolean): number {
  let [low, high] = [0x9e3779b9, isUndesirable ? 0xc2b2ae35 : 0x85ebca6b];
  for (const spans of sequences) {
    for (const { tokens, isLearned } of spans) {
      const mark = isLearned ? 0x40000000 : 0x20000000;
      for (let i = 0; i < tokens.length; i++) {
        const token = tokens[i]! | mark;
        low = Math.imul(low ^ token, 0x01000193);
        high = Math.imul(high ^ token ^ (high >>> 15), 0x5bd1e995);
      }
    }
    low = Math.imul(low ^ -1, 0x01000193);
  }
  return (low >>> 0) * 2 ** 21 + (high >>> 11);
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const { maxMeasuredRows, hardestRows: HARDEST } = constants;

/** Interval of progress notes, in ms. */
const NOTE_EVERY_MS = 10_000;

interface Options {
  /** File and line of a row, by its index among the rows not skipped. */
  locationOf: (row: number) => string;
  onNote?: ((text: string) => void) | undefined;
}

/** Examples with the highest loss before training, among at most 200 from all over the dataset. */
export async function hardestRows(
  { data, start }: Preparation,
  context: StepContext,
  { locationOf, onNote = () => undefined }: Options,
): Promise<HardRow[]> {
  const { examples } = data.training;
  const count = Math.min(maxMeasuredRows, examples.length);
  const losses: { index: number; loss: number }[] = [];
  onNote(`measuring the loss of ${formatCount(count)} examples`);
  let lastNote = performance.now();
  for (let i = 0; i < count; i++) {
    if (performance.now() - lastNote > NOTE_EVERY_MS) {
      lastNote = performance.now();
      onNote(`measuring the loss: ${i} of ${formatCount(count)} examples`);
    }
    const index = Math.floor((i * examples.length) / count);
    const { loss } = await measureBatch(context, [examples.at(index)]);
    // A chunk of a text may have no token to learn.
    if (loss.count > 0) losses.push({ index, loss: loss.sum / loss.count });
  }
  const hardest = losses.toSorted((one, other) => other.loss - one.loss).slice(0, HARDEST);
  return hardest.map(({ index, loss }) => ({
    where: locationOf(examples.rowAt(index)),
    loss,
    row: examples.at(index).sequences.flatMap((sequence) => segmentsOf(sequence, start.tokenizer)),
  }));
}
