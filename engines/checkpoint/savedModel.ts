import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { TIED, configShape } from "../families/config.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { type Projection, EMBEDDING, HEAD } from "../families/projections.ts";
import { weightCounts } from "../families/randomWeights.ts";
import { modelNames } from "../families/storedNames.ts";
import { modelMaps, weightShapes } from "../families/tensorShapes.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { CONFIG_FILE, WEIGHTS_FILE, WEIGHTS_INDEX } from "../modelFiles/names.ts";
import { hasNumbers, useSafetensors } from "../modelFiles/safetensors.ts";
import { type TensorFiles, type WeightsFile, openTensors } from "../modelFiles/tensorFiles.ts";
import { hasOwnHead } from "./ownHead.ts";

/** A whole model on disk, in Hugging Face's layout. */
export interface SavedModel {
  shape: Dimensions;
  weights: WeightsFile;
}

/** @throws KitError `CHECKPOINT_INVALID` for a model that is damaged, or of a kind that Kit does not read */
export function openModel(directory: string): SavedModel {
  const path = join(directory, CONFIG_FILE);
  const known = configShape(path, readConfig(path));
  const { label, files } = weightFiles(directory);
  const tensors = openTensors(files, weightCounts({ ...known, biases: [] }), {
    label,
    rename: (stored) => modelNames(stored, known.tied),
  });
  const tied = known.tied && !hasOwnHead(tensors.find);
  if (!tied && !tensors.has(HEAD)) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${label} has no ${HEAD}. If the model's head is its embedding, set "${TIED}": true in ${path}; if not, download it again.`,
    );
  }
  const shape = { ...known, tied, biases: biasesOf(known, tensors.has, label) };
  const weights = tensors.choose(weightShapes(shape));
  assertNotZeroed(tensors, label);
  return { shape, weights };
}

/**
 * The projections that have a bias in the files.
 * @throws KitError `CHECKPOINT_INVALID` where its config has none, by which other tools would leave it out
 */
export function biasesOf(
  d: Dimensions,
  has: (name: string) => boolean,
  label: string,
): readonly Projection[] {
  const there = modelMaps(d).filter(({ name }) => has(`${name}.bias`));
  const other = there.find(({ target }) => !d.biases.some((bias) => bias === target));
  if (!other) return d.biases.filter((bias) => there.some(({ target }) => target === bias));
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${label} has ${other.name}.bias, which its ${CONFIG_FILE} says that the model does not have. Set attention_bias or mlp_bias there as the model was trained.`,
  );
}

/** A download that broke off may leave a file as long as it should be, with zeros for what never came. */
function assertNotZeroed({ find }: TensorFiles, label: string): void {
  const embedding = find(EMBEDDING);
  if (!embedding || !hasNumbers(embedding.entry)) return;
  const { path, entry } = embedding;
  const count = entry.shape.reduce((product, size) => product * size, 1);
  const isZeroed = useSafetensors(path, ({ part }) => {
    for (let at = 0; at < count; at += PART_NUMBERS) {
      const numbers = part(EMBEDDING, entry, at, Math.min(PART_NUMBERS, count - at));
      if (numbers.some((number) => number !== 0)) return false;
    }
    return true;
  });
  if (!isZeroed) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${label} has nothing but zeros in ${EMBEDDING}, as after a download that broke off. Save or download it again.`,
  );
}

/** Numbers that are looked at together: the first are hardly ever all zeros. */
const PART_NUMBERS = 2 ** 16;

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
