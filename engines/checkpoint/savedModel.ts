import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { TIED, configShape } from "../families/config.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { type Projection, EMBEDDING, HEAD } from "../families/projections.ts";
import { modelNames } from "../families/storedNames.ts";
import { modelLinears, weightShapes, weightCounts } from "../families/tensorShapes.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { type FileTensor, fileTensors } from "../modelFiles/fileTensors.ts";
import { CONFIG_FILE, WEIGHTS_FILE, WEIGHTS_INDEX } from "../modelFiles/names.ts";
import { isDtype } from "../modelFiles/numberTypes.ts";
import { chooseTensors, listTensors, renamed } from "../modelFiles/tensorFiles.ts";
import { type TensorSource, chunks } from "../modelFiles/tensors.ts";
import { type Numbers, widened } from "../modelFiles/weights.ts";

/**
 * Opens a whole model in Hugging Face's layout.
 * @throws KitError `CHECKPOINT_INVALID` for a damaged or unsupported model
 */
export function openModel(directory: string): { shape: Dimensions; weights: TensorSource } {
  const path = join(directory, CONFIG_FILE);
  const fromConfig = configShape(path, readConfig(path));
  const { label, files } = weightFiles(directory);
  const stored = listTensors(files, weightCounts({ ...fromConfig, biases: [] }), label);
  const tensors = renamed(stored, modelNames(new Set(stored.keys()), fromConfig.tied));
  const has = (name: string) => tensors.has(name);
  const tied = fromConfig.tied && !hasOwnHead(tensors);
  if (!tied && !has(HEAD)) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${label} has no ${HEAD}. If the model's head is its embedding, set "${TIED}": true in ${path}; if not, download it again.`,
    );
  }
  const shape = { ...fromConfig, tied, biases: biasesOf(fromConfig, has, label) };
  const weights = chooseTensors(tensors, weightShapes(shape), label);
  assertNotZeroed(tensors, label);
  return { shape, weights };
}

/**
 * The projections that have a bias in the files.
 * @throws KitError `CHECKPOINT_INVALID` for a bias that the config denies, because other tools would ignore it
 */
export function biasesOf(
  d: Dimensions,
  has: (name: string) => boolean,
  label: string,
): readonly Projection[] {
  const withBias = modelLinears(d).filter(({ name }) => has(`${name}.bias`));
  const denied = withBias.find(({ target }) => !d.biases.some((bias) => bias === target));
  if (!denied) return d.biases.filter((bias) => withBias.some(({ target }) => target === bias));
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${label} has ${denied.name}.bias, but its ${CONFIG_FILE} says that the model has none. Set attention_bias or mlp_bias there as in training.`,
  );
}

/**
 * Whether a model has its own head although its config ties the embeddings. As in `transformers` 5, it has one if the
 * files contain both tensors and they differ.
 */
export function hasOwnHead(tensors: ReadonlyMap<string, FileTensor>): boolean {
  const [head, embedding] = [tensors.get(HEAD), tensors.get(EMBEDDING)];
  if (!head || !embedding) return false;
  if (!isDtype(head.type) || !isDtype(embedding.type)) return true;
  if (head.shape.join() !== embedding.shape.join()) return true;
  const source = fileTensors(tensors);
  const headChunks = chunks(source, HEAD);
  for (const chunk of chunks(source, EMBEDDING)) {
    const [embedded, projected] = [widened(chunk), widened(headChunks.next().value as Numbers)];
    for (let i = 0; i < embedded.length; i++) if (embedded[i] !== projected[i]) return true;
  }
  return false;
}

/** Detects an interrupted download, which may leave a file of full length, with zeros for the missing rest. */
function assertNotZeroed(tensors: ReadonlyMap<string, FileTensor>, label: string): void {
  for (const chunk of chunks(fileTensors(tensors), EMBEDDING)) {
    if (widened(chunk).some((number) => number !== 0)) return;
  }
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${label} has only zeros in ${EMBEDDING}, as after an interrupted download. Save or download it again.`,
  );
}

const PICKLED_INDEX = "pytorch_model.bin.index.json";
const PICKLED = ["pytorch_model.bin", PICKLED_INDEX];

/** A model's weight files, and the file that lists them. */
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
 * Checks the files that an index of pickled weights names; other engines read them as plain tensors.
 * @throws KitError `CHECKPOINT_INVALID` for a file outside the directory
 */
export function assertPicklesInside(directory: string): void {
  const index = join(directory, PICKLED_INDEX);
  if (existsSync(index)) shardsOf(index, PICKLED_SHARD);
}

/** Names of files in the same directory. */
const SHARD = /^[^/\\]+\.safetensors$/;
const PICKLED_SHARD = /^[^/\\]+\.bin$/;

function shardsOf(index: string, pattern = SHARD): string[] {
  const { weight_map: map } = readConfig(index);
  const names = isRecord(map) ? Object.values(map) : [];
  const isShard = (name: unknown): name is string => typeof name === "string" && pattern.test(name);
  if (names.length > 0 && names.every(isShard)) return [...new Set(names)];
  throw new KitError("CHECKPOINT_INVALID", `${index} names no weights. Save or download it again.`);
}
