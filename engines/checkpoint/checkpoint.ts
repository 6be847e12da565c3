import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError, messageOf } from "../../protocol/error.ts";
import type { LoraConfig, ModelShape } from "../../protocol/trainConfig.ts";
import { adapterConfig, adapterOf, fromPeftNames, toPeftNames } from "./adapterConfig.ts";
import type { PromptStyle } from "../llama/chat.ts";
import { readConfig, readWeights } from "./checkpointFile.ts";
import { writeDirectory } from "./directory.ts";
import { adapterShapes, mergeAdapter } from "../llama/adapter.ts";
import { assertShape } from "../llama/presets.ts";
import { generationConfig, modelConfig, shapeOf } from "./modelConfig.ts";
import { FLOAT_BYTES, writeSafetensors } from "./safetensors.ts";
import { tokenizerConfig, tokenizerJson } from "./tokenizerFiles.ts";
import { MOST_BYTES, MOST_GIB } from "../webassembly.ts";
import { type Weights, countOf, weightCounts, weightShapes } from "../llama/weights.ts";

/** A model that was saved; an adapter is merged into its base. */
export interface Checkpoint {
  shape: ModelShape;
  weights: Weights;
  promptStyle: PromptStyle;
}

/** The part of every saved directory besides its weights. */
export interface CheckpointNotes {
  shape: ModelShape;
  promptStyle: PromptStyle;
  /** `trainer_state.json`; absent for a base that was never trained. */
  state?: object;
}

/** Saves a whole model. */
export function saveModel(path: string, weights: Weights, notes: CheckpointNotes): void {
  writeDirectory(path, modelFiles(weights, notes));
}

/** The files of a whole model in Hugging Face's layout, by their names. */
export function modelFiles(weights: Weights, notes: CheckpointNotes) {
  return {
    "config.json": json(modelConfig(notes.shape)),
    "generation_config.json": json(generationConfig()),
    "model.safetensors": writeSafetensors(weights),
    ...companions(notes),
  };
}

/** An adapter in PEFT's layout. @param base absolute path of the model it belongs to */
export function adapterFiles(
  adapter: Weights,
  { lora, base, ...notes }: CheckpointNotes & { lora: LoraConfig; base: string },
) {
  return {
    "adapter_config.json": json(adapterConfig(lora, base)),
    "adapter_model.safetensors": writeSafetensors(toPeftNames(adapter)),
    ...companions(notes),
  };
}

function companions({ shape, promptStyle, state }: CheckpointNotes): Record<string, string> {
  return {
    "tokenizer.json": json(tokenizerJson()),
    "tokenizer_config.json": json(tokenizerConfig(shape, promptStyle)),
    ...(state && { "trainer_state.json": json(state) }),
  };
}

/**
 * Reads a model's directory, or an adapter's with its base.
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing, damaged or of another model
 */
export function readCheckpoint(path: string): Checkpoint {
  const adapter = readConfig(join(path, "adapter_config.json"), "optional");
  if (adapter) return readAdapter(path, adapter);
  const config = readConfig(join(path, "config.json"));
  const shape = shapeOf(config);
  if (!shape) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${path} holds another kind of model. Use a checkpoint that Kit saved.`,
    );
  }
  assertPossible(path, shape);
  const weights = readWeights(join(path, "model.safetensors"), weightCounts(shape), () =>
    weightShapes(shape),
  );
  return { shape, weights, promptStyle: readPromptStyle(path) };
}

const CHECKPOINT_MARKS = ["config.json", "adapter_config.json"];

/** @throws KitError `MODEL_UNKNOWN` when a model's path leads to no checkpoint */
export function assertCheckpoint(path: string): void {
  if (CHECKPOINT_MARKS.some((file) => existsSync(join(path, file)))) return;
  throw new KitError(
    "MODEL_UNKNOWN",
    `There is no checkpoint at ${path}. Name a directory with ${CHECKPOINT_MARKS.join(" or ")}.`,
  );
}

/** Refuses a model that no memory could hold, before its weights are read. */
function assertPossible(path: string, shape: ModelShape): void {
  const config = join(path, "config.json");
  try {
    assertShape(shape);
  } catch (cause) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${config}: ${messageOf(cause)} Use a checkpoint that Kit saved.`,
      { cause },
    );
  }
  const keysAndValues = 2 * shape.layers * shape.width * shape.context;
  const bytes = (weightCounts(shape).numbers + keysAndValues) * FLOAT_BYTES;
  if (bytes <= MOST_BYTES) return;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${config} describes a model that takes ${Math.ceil(bytes / 2 ** 30)} GiB, but only ${MOST_GIB} GiB fit in memory. Use a smaller model.`,
  );
}

/** Whether a directory holds an adapter, which no other adapter can have as its base. */
export function isAdapter(path: string): boolean {
  return readConfig(join(path, "adapter_config.json"), "optional") !== undefined;
}

function readAdapter(path: string, config: Record<string, unknown>): Checkpoint {
  const saved = adapterOf(config);
  if (!saved) {
    throw new KitError(
      "CHECKPOINT_INVALID",
      `${join(path, "adapter_config.json")} is not an adapter that Kit saved. Use one that Kit saved.`,
    );
  }
  const base = readBase(path, saved.base);
  const shapes = toPeftNames(adapterShapes(saved.lora, base.shape));
  const file = join(path, "adapter_model.safetensors");
  const adapter = fromPeftNames(readWeights(file, countOf(shapes), () => shapes));
  const weights = mergeAdapter(base.weights, adapter, saved.lora);
  return { ...base, weights, promptStyle: readPromptStyle(path) };
}

/** A base beside its adapter is found there even after the project has moved. */
export const BASE_DIRECTORY = "base";

function readBase(path: string, recorded: string): Checkpoint {
  const beside = join(path, "..", BASE_DIRECTORY);
  const moved = !readConfig(join(recorded, "config.json"), "optional");
  const base = moved && readConfig(join(beside, "config.json"), "optional") ? beside : recorded;
  if (!isAdapter(base)) return readCheckpoint(base);
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} names the adapter ${base} as its base. Use an adapter whose base is a whole model.`,
  );
}

function readPromptStyle(path: string): PromptStyle {
  const config = readConfig(join(path, "tokenizer_config.json"), "optional");
  return config?.["prompt_style"] === "text" ? "text" : "message";
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
