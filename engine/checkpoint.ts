import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { LoraConfig, ModelShape } from "../protocol/engine.ts";
import type { PromptStyle } from "./chat.ts";
import { writeDirectory } from "./directory.ts";
import { EngineError } from "./error.ts";
import { adapterShapes, mergeAdapter } from "./lora.ts";
import { generationConfig, modelConfig, shapeOf } from "./modelConfig.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";
import { tokenizerConfig, tokenizerJson } from "./tokenizerFiles.ts";
import { weightShapes, type Weights } from "./weights.ts";

/** A model that was saved; an adapter is merged into its base. */
export interface Checkpoint {
  shape: ModelShape;
  weights: Weights;
  promptStyle: PromptStyle;
}

/** What every saved directory has besides its weights. */
export interface CheckpointNotes {
  shape: ModelShape;
  promptStyle: PromptStyle;
  /** `trainer_state.json`; absent for a base that was never trained. */
  state?: object;
}

const PEFT_PREFIX = "base_model.model.";

/** Saves a whole model in Hugging Face's layout. */
export function saveModel(path: string, weights: Weights, notes: CheckpointNotes): void {
  writeDirectory(path, {
    "config.json": json(modelConfig(notes.shape)),
    "generation_config.json": json(generationConfig()),
    "model.safetensors": writeSafetensors(weights),
    ...companions(notes),
  });
}

/** Saves an adapter in PEFT's layout. @param base absolute path of the model it belongs to */
export function saveAdapter(
  path: string,
  adapter: Weights,
  { lora, base, ...notes }: CheckpointNotes & { lora: LoraConfig; base: string },
): void {
  const named = Object.entries(adapter).map(([name, tensor]) => [PEFT_PREFIX + name, tensor]);
  writeDirectory(path, {
    "adapter_config.json": json({
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      base_model_name_or_path: base,
      r: lora.r,
      lora_alpha: lora.alpha,
      lora_dropout: 0,
      target_modules: lora.targetModules,
      bias: "none",
      fan_in_fan_out: false,
      init_lora_weights: true,
      inference_mode: true,
      modules_to_save: null,
    }),
    "adapter_model.safetensors": writeSafetensors(Object.fromEntries(named) as Weights),
    ...companions(notes),
  });
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
 * @throws EngineError `CHECKPOINT_INVALID` when a file is missing, damaged or of another model
 */
export function readCheckpoint(path: string): Checkpoint {
  const adapter = readJson(join(path, "adapter_config.json"), "optional");
  if (adapter) return readAdapter(path, adapter);
  const config = readJson(join(path, "config.json"));
  const shape = shapeOf(config);
  if (!shape) {
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `${path} holds another kind of model: use a checkpoint that Kit saved.`,
    );
  }
  const weights = readWeights(join(path, "model.safetensors"), weightShapes(shape));
  return { shape, weights, promptStyle: readPromptStyle(path) };
}

/** Whether a directory holds an adapter, which no other adapter can have as its base. */
export function isAdapter(path: string): boolean {
  return readJson(join(path, "adapter_config.json"), "optional") !== null;
}

function readAdapter(path: string, config: Record<string, unknown>): Checkpoint {
  const { base_model_name_or_path: basePath, r, lora_alpha: alpha, target_modules } = config;
  if (
    typeof basePath !== "string" ||
    typeof r !== "number" ||
    typeof alpha !== "number" ||
    !Array.isArray(target_modules)
  ) {
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `${join(path, "adapter_config.json")} is not an adapter that Kit saved: use one that is.`,
    );
  }
  const base = readBase(path, basePath);
  const lora = { r, alpha, targetModules: target_modules as string[] };
  const expected = Object.entries(adapterShapes(lora, base.shape));
  const adapter = readWeights(
    join(path, "adapter_model.safetensors"),
    Object.fromEntries(expected.map(([name, shape]) => [PEFT_PREFIX + name, shape])),
  );
  const named = Object.entries(adapter).map(([name, t]) => [name.slice(PEFT_PREFIX.length), t]);
  const weights = mergeAdapter(base.weights, Object.fromEntries(named) as Weights, lora);
  return { ...base, weights, promptStyle: readPromptStyle(path) };
}

/** A base that was saved beside the adapter is found there too, should the project have moved. */
export const BASE_DIRECTORY = "base";

function readBase(path: string, recorded: string): Checkpoint {
  const beside = join(path, "..", BASE_DIRECTORY);
  const moved = !readJson(join(recorded, "config.json"), "optional");
  return readCheckpoint(
    moved && readJson(join(beside, "config.json"), "optional") ? beside : recorded,
  );
}

function readWeights(file: string, expected: Record<string, number[]>): Weights {
  const weights = readSafetensors(read(file), file);
  for (const [name, shape] of Object.entries(expected)) {
    const found = weights[name]?.shape.join(" × ") ?? "missing";
    if (found !== shape.join(" × ")) {
      throw new EngineError(
        "CHECKPOINT_INVALID",
        `${file}: ${name} is ${found}, not ${shape.join(" × ")}: use a checkpoint that Kit saved.`,
      );
    }
  }
  return Object.fromEntries(Object.keys(expected).map((name) => [name, weights[name]])) as Weights;
}

function readPromptStyle(path: string): PromptStyle {
  const config = readJson(join(path, "tokenizer_config.json"), "optional");
  return config?.["prompt_style"] === "text" ? "text" : "message";
}

function readJson(file: string): Record<string, unknown>;
function readJson(file: string, optional: "optional"): Record<string, unknown> | null;
function readJson(file: string, optional?: "optional"): Record<string, unknown> | null {
  const text = optional ? readIfThere(file) : read(file);
  if (text === null) return null;
  try {
    return JSON.parse(text.toString("utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `${file} is not valid JSON: use a checkpoint that Kit saved.`,
      { cause },
    );
  }
}

function read(file: string): Buffer {
  const content = readIfThere(file);
  if (content) return content;
  throw new EngineError(
    "CHECKPOINT_INVALID",
    `There is no ${file}: use the directory of a checkpoint that Kit saved.`,
  );
}

function readIfThere(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `Cannot read ${file}: ${message}. Make it readable.`,
      { cause },
    );
  }
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
