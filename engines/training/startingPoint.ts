import { join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import { readToResume } from "../../protocol/error.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { assertCheckpoint, openCheckpoint, saveModel } from "../checkpoint/checkpoint.ts";
import { templateDateOf } from "../checkpoint/savedTokenizer.ts";
import { type CheckpointMetadata, tokenizerCopies } from "../checkpoint/sidecarFiles.ts";
import { directoryTexts } from "../checkpoint/textFiles.ts";
import type { Dimensions } from "../families/dimensions.ts";
import type { LocatedModel } from "../families/modelSource.ts";
import { randomWeights } from "../families/randomWeights.ts";
import { parseHubName } from "../hub/hubName.ts";
import { randomAdapter } from "../lora/adapter.ts";
import { BASE_DIRECTORY, isAdapter } from "../lora/base.ts";
import { type TensorSource, bfloat16Of, inMemoryTensors, readAll } from "../modelFiles/tensors.ts";
import { type StoredWeights, type Weights, widen } from "../modelFiles/weights.ts";
import { BYTE_TOKENIZER } from "../tokens/byteTokenizer.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";
import type { InitialState } from "./backend.ts";

/** A model before training. Its weights are read or initialized later, once memory is known to suffice. */
export interface StartingPoint {
  source: LocatedModel;
  shape: Dimensions;
  /** Names of the tensors stored as bfloat16. */
  bfloat16?: ReadonlySet<string>;
  /** Reads or initializes all weights. */
  read: () => StoredWeights;
  /** A checkpoint's tensors, to read one by one. */
  weights?: TensorSource;
  tokenizer: Tokenizer;
  /** When training first started, for a chat template that writes the date. */
  templateDate?: Date | undefined;
  /** Directory of the pretrained model; undefined for a model of Kit's own. */
  origin?: string | undefined;
  /** Directory of the tokenizer, if it isn't the origin's. */
  tokenizerOrigin?: string | undefined;
}

/**
 * @param resumeFrom the checkpoint to resume from, which has the template date
 * @throws KitError for a missing or damaged model, and `RESUME_INVALID`
 */
export function findStartingPoint(
  source: LocatedModel,
  { seed }: TrainConfig,
  resumeFrom?: string,
): StartingPoint {
  if (source.kind === "untrained") {
    const { dimensions: shape } = source;
    return { source, shape, read: () => randomWeights(shape, seed), tokenizer: BYTE_TOKENIZER };
  }
  assertCheckpoint(source.directory);
  const { shape, weights, tokenizer, templateDate, ...from } = openCheckpoint(source.directory);
  const { origin, tokenizerOrigin = origin } = from;
  // Throws now rather than at the first checkpoint.
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
 * An adapter's base: its name on the hub with its commit, or an absolute path, in the job's directory if the base isn't
 * on disk yet.
 */
export function baseOf({ source }: StartingPoint, directory: string): string {
  if (!isBaseOnDisk(source)) return join(directory, ARTIFACTS, BASE_DIRECTORY);
  const { commit } = source;
  return commit === undefined ? source.directory : `${parseHubName(source.name)?.repo}@${commit}`;
}

/** Whether the model is a whole one on disk, rather than an adapter or random weights. */
function isBaseOnDisk(source: LocatedModel): source is LocatedModel & { kind: "checkpoint" } {
  return source.kind === "checkpoint" && !isAdapter(source.directory);
}

/**
 * Reads or creates the trainable and frozen weights, and saves an adapter's base if it isn't on disk yet. Keeps no
 * reference to the weights, to save memory.
 * @param resumed trained weights of a resumed run
 */
export function initialWeights(
  { lora, seed }: TrainConfig,
  { source, shape, read, weights }: StartingPoint,
  basePath: string,
  { resumed, ...metadata }: CheckpointMetadata & { resumed?: Weights | undefined },
): Pick<InitialState, "trainable" | "frozen"> {
  if (!lora) return { trainable: resumed ?? widen(read()), frozen: inMemoryTensors({}) };
  const trainable = resumed ?? randomAdapter(lora, shape, seed);
  if (weights && isBaseOnDisk(source)) return { trainable, frozen: weights };
  const base = read();
  saveModel(basePath, base, metadata);
  return { trainable, frozen: inMemoryTensors(base) };
}
