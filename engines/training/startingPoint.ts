import { join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import { readToResume } from "../../protocol/error.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { assertCheckpoint, openCheckpoint, saveModel } from "../checkpoint/checkpoint.ts";
import { type CheckpointNotes, tokenizerCopies } from "../checkpoint/companions.ts";
import { templateDateOf } from "../checkpoint/savedTokenizer.ts";
import { directoryTexts } from "../checkpoint/textFiles.ts";
import type { Dimensions } from "../families/dimensions.ts";
import type { LocatedModel } from "../families/modelSource.ts";
import { randomWeights } from "../families/randomWeights.ts";
import { parseHubName } from "../hub/hubName.ts";
import { randomAdapter } from "../lora/adapter.ts";
import { BASE_DIRECTORY, isAdapter } from "../lora/base.ts";
import { type TensorSource, bfloat16Of, heldTensors, readAll } from "../modelFiles/tensors.ts";
import { type StoredWeights, type Weights, widen } from "../modelFiles/weights.ts";
import { BYTE_TOKENIZER } from "../tokens/byteTokenizer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { InitialState } from "./backend.ts";

/** A model before its first step, whose weights are read or made once it is known that they fit. */
export interface StartingPoint {
  source: LocatedModel;
  shape: Dimensions;
  /** Names of the tensors stored as bfloat16. */
  bfloat16?: ReadonlySet<string>;
  read: () => StoredWeights;
  /** Those of a checkpoint, where they lie. */
  weights?: TensorSource;
  tokenizer: Tokenizer;
  /** When the training began, for a chat template that writes the date. */
  templateDate?: Date | undefined;
  /** Directory of the model that a checkpoint began as; none for Kit's own. */
  origin?: string | undefined;
  /** Directory of its tokenizer, where that is another. */
  tokenizerOrigin?: string | undefined;
}

/**
 * @param resumeFrom a checkpoint whose training goes on, with the date of its rows
 * @throws KitError for a model that is not there or damaged
 */
export function findStartingPoint(
  source: LocatedModel,
  { seed }: TrainConfig,
  resumeFrom?: string,
): StartingPoint {
  if (source.kind === "shape") {
    const { shape } = source;
    return { source, shape, read: () => randomWeights(shape, seed), tokenizer: BYTE_TOKENIZER };
  }
  assertCheckpoint(source.directory);
  const { shape, weights, tokenizer, templateDate, ...from } = openCheckpoint(source.directory);
  const { origin, tokenizerOrigin = origin } = from;
  // One that cannot be copied would cost the training at its first checkpoint.
  if (tokenizerOrigin !== undefined) tokenizerCopies(tokenizerOrigin, undefined);
  const read = () => readAll(weights);
  const stored = { weights, read, bfloat16: bfloat16Of(weights) };
  const found = { source, shape, ...stored, tokenizer, origin, tokenizerOrigin };
  if (!tokenizer.at) return found;
  const resumed =
    resumeFrom === undefined
      ? undefined
      : readToResume(() => templateDateOf(directoryTexts(resumeFrom)));
  const date = resumed ?? templateDate ?? new Date();
  return { ...found, tokenizer: tokenizer.at(date), templateDate: date };
}

/**
 * The model that an adapter belongs to: its name on the hub with its commit, or an absolute path. That
 * is in the job's directory, if the model is not on disk.
 */
export function baseOf({ source }: StartingPoint, directory: string): string {
  if (!isBaseOnDisk(source)) return join(directory, ARTIFACTS, BASE_DIRECTORY);
  const { commit } = source;
  return commit === undefined ? source.directory : `${parseHubName(source.name)?.repo}@${commit}`;
}

/** Whether it is on disk, and no adapter. */
function isBaseOnDisk(source: LocatedModel): source is LocatedModel & { kind: "checkpoint" } {
  return source.kind === "checkpoint" && !isAdapter(source.directory);
}

/**
 * The trained and the frozen weights: for the backend alone, so that nobody else keeps them. Saves
 * an adapter's base that is not on disk yet.
 * @param resumed what is trained, as far as it was
 */
export function initialWeights(
  { lora, seed }: TrainConfig,
  { source, shape, read, weights }: StartingPoint,
  base: string,
  { resumed, ...notes }: CheckpointNotes & { resumed?: Weights | undefined },
): Pick<InitialState, "trained" | "frozen"> {
  if (!lora) return { trained: resumed ?? widen(read()), frozen: heldTensors({}) };
  const trained = resumed ?? randomAdapter(lora, shape, seed);
  if (weights && isBaseOnDisk(source)) return { trained, frozen: weights };
  const made = read();
  saveModel(base, made, notes);
  return { trained, frozen: heldTensors(made) };
}
