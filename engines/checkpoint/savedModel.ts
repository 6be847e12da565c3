import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { configShape } from "../families/config.ts";
import type { LlamaShape } from "../families/dimensions.ts";
import { isProjection } from "../families/projections.ts";
import { weightCounts } from "../families/randomWeights.ts";
import { modelMaps, weightShapes } from "../families/tensorShapes.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE, WEIGHTS_FILE, WEIGHTS_INDEX } from "../modelFiles/names.ts";
import { type WeightsFile, openTensors } from "../modelFiles/tensorFiles.ts";

/** A whole model on disk, in Hugging Face's layout. */
export interface SavedModel {
  shape: LlamaShape;
  weights: WeightsFile;
}

/** @throws KitError `CHECKPOINT_INVALID` for a model that is damaged, or of a kind that Kit does not read */
export function openModel(directory: string): SavedModel {
  const path = join(directory, CONFIG_FILE);
  const known = configShape(path, readConfig(path));
  const { label, files } = weightFiles(directory);
  const tensors = openTensors(files, weightCounts(known), label);
  const biases = modelMaps({ ...known, layers: 1 }).filter(({ name }) =>
    tensors.has(`${name}.bias`),
  );
  const shape = { ...known, biases: biases.map(({ target }) => target).filter(isProjection) };
  return { shape, weights: tensors.choose(weightShapes(shape)) };
}

const PICKLED_INDEX = "pytorch_model.bin.index.json";
const PICKLED = ["pytorch_model.bin", PICKLED_INDEX];

/** The files of a model's weights, and the one that names them. */
export function weightFiles(directory: string): { label: string; files: string[] } {
  const [whole, index] = [join(directory, WEIGHTS_FILE), join(directory, WEIGHTS_INDEX)];
  if (!existsSync(whole) && existsSync(index)) {
    return { label: index, files: shardsOf(index).map((name) => join(directory, name)) };
  }
  const pickled = PICKLED.find((name) => existsSync(join(directory, name)));
  if (existsSync(whole) || pickled === undefined) return { label: whole, files: [whole] };
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${directory} has its weights in ${pickled}, a format that can run code. Use a model with ${WEIGHTS_FILE}.`,
  );
}

/**
 * Checks what an index of pickled weights names, which other engines read as plain tensors.
 * @throws KitError `CHECKPOINT_INVALID` for a file of another directory
 */
export function assertOwnPickles(directory: string): void {
  const index = join(directory, PICKLED_INDEX);
  if (existsSync(index)) shardsOf(index, PICKLED_SHARD);
}

/** A name in the same directory, and in no other. */
const SHARD = /^[^/\\]+\.safetensors$/;
const PICKLED_SHARD = /^[^/\\]+\.bin$/;

function shardsOf(index: string, form = SHARD): string[] {
  const { weight_map: map } = readConfig(index);
  const names = isRecord(map) ? Object.values(map) : [];
  const isShard = (name: unknown): name is string => typeof name === "string" && form.test(name);
  if (names.length > 0 && names.every(isShard)) return [...new Set(names)];
  throw new KitError("CHECKPOINT_INVALID", `${index} names no weights. Save or download it again.`);
}
