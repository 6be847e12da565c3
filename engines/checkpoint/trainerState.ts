import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { KitError } from "../../protocol/error.ts";
import { bestOf } from "../../protocol/evaluation.ts";
import type { EventData } from "../../protocol/event.ts";
import {
  type BaseType,
  type LoraConfig,
  type TrainConfig,
  BASE_TYPES,
} from "../../protocol/trainConfig.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { weightShapes } from "../families/tensorShapes.ts";
import { adapterShapes } from "../lora/adapter.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_FILE,
  fromPeftNames,
  llamaAdapterOf,
  toPeftNames,
} from "../lora/peftConfig.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { WEIGHTS_FILE } from "../modelFiles/names.ts";
import { writeSafetensors } from "../modelFiles/safetensors.ts";
import { openTensors } from "../modelFiles/tensorFiles.ts";
import { readAll } from "../modelFiles/tensors.ts";
import { type Weights, widen } from "../modelFiles/weights.ts";
import type { SumAndCount } from "../objectives/objective.ts";
import { openModel } from "./savedModel.ts";

type Log = EventData["training.log"];

/** A training run's progress. */
export interface TrainerProgress {
  step: number;
  maxSteps: number;
  epoch: number;
  epochs: number;
  /** Tokens trained on so far. */
  tokens: number;
  /** Losses and metrics since the last log. */
  pending: PendingSteps;
  /** The starting model's commit, if it came from the hub. */
  commit?: string | undefined;
  /** The type that the frozen base was quantized to, if it was. */
  baseType?: BaseType | undefined;
}

/** Losses and metrics of steps that aren't logged yet. */
export interface PendingSteps {
  losses: number[];
  metrics: Record<string, SumAndCount>;
}

/** Written by every engine, with the names of `transformers`' TrainerState. */
export const STATE_FILE = "trainer_state.json";

/** Kit's key among the Trainer's `stateful_callbacks`. */
export const KIT = "Kit";

/** Enough for many million steps. */
const MAX_STATE_MIB = 256;

/** Empty for a file that is missing or damaged. @param path of a checkpoint */
export function readState(path: string): Record<string, unknown> {
  try {
    return readConfig(join(path, STATE_FILE), "optional", MAX_STATE_MIB) ?? {};
  } catch {
    // A damaged file counts as missing.
    return {};
  }
}

/** Kit's own attributes in the state. */
export function attributesOf(state: Record<string, unknown>): Record<string, unknown> {
  const callbacks = state["stateful_callbacks"] as Record<string, unknown> | undefined;
  const callback = callbacks?.[KIT] as { attributes?: Record<string, unknown> } | undefined;
  return callback?.attributes ?? {};
}

/** The hub model that a training run started from, by its name in the config, and its commit. */
export function startedFrom(
  path: string | undefined,
): { model: string; commit: string } | undefined {
  const { model, commit } = path === undefined ? {} : attributesOf(readState(path));
  return typeof model === "string" && typeof commit === "string" ? { model, commit } : undefined;
}

/** The type that an adapter's base was quantized to for training, if it was. @param path of a checkpoint */
export function trainedBaseType(path: string): BaseType | undefined {
  const { baseType } = attributesOf(readState(path));
  return BASE_TYPES.find((type) => type === baseType);
}

/** The config with the base type of the run that it resumes, which Kit may have chosen. */
export function withResumedType(
  { lora, ...config }: TrainConfig,
  resumeFrom: string | undefined,
): TrainConfig {
  const baseType = lora?.baseType ?? (resumeFrom && trainedBaseType(resumeFrom));
  return { ...config, lora: lora && { ...lora, ...(baseType && { baseType }) } };
}

/** `trainer_state.json` with the names of `transformers`' TrainerState. */
export function trainerState(config: TrainConfig, logs: Log[], progress: TrainerProgress) {
  const best = bestOf(logs);
  const { pending, commit, baseType } = progress;
  const attributes = {
    ...pending,
    checksums: true,
    ...(baseType !== undefined && { baseType }),
    ...(commit !== undefined && { model: config.model, commit }),
  };
  return {
    best_global_step: best?.step ?? null,
    best_metric: best?.evalLoss ?? null,
    best_model_checkpoint: null,
    epoch: progress.epoch,
    eval_steps: isEvaluated(config) ? config.evalSteps : null,
    global_step: progress.step,
    is_hyper_param_search: false,
    is_local_process_zero: true,
    is_world_process_zero: true,
    log_history: logs.flatMap(historyOf),
    logging_steps: config.loggingSteps,
    max_steps: progress.maxSteps,
    num_input_tokens_seen: progress.tokens,
    num_train_epochs: Math.ceil(progress.epochs),
    save_steps: config.saveSteps,
    stateful_callbacks: { [KIT]: { args: {}, attributes } },
    total_flos: 0,
    train_batch_size: config.batchSize,
    trial_name: null,
    trial_params: null,
  };
}

/** Converts a log to the Trainer's entries, of which an evaluation is a separate one. */
function historyOf(log: Log): object[] {
  const { step, epoch, evalLoss } = log;
  const trained = {
    epoch,
    grad_norm: log.gradNorm,
    learning_rate: log.learningRate,
    loss: log.loss,
    step,
    ...(log.metrics && { metrics: log.metrics }),
  };
  return evalLoss === undefined ? [trained] : [trained, { epoch, eval_loss: evalLoss, step }];
}

function isEvaluated({ evalDataset, evalSplit }: TrainConfig): boolean {
  return evalDataset !== undefined || evalSplit !== undefined;
}

/** Progress recorded in a `trainer_state.json`; undefined if it isn't Kit's. */
export function progressOf(
  state: Record<string, unknown>,
): (Pick<TrainerProgress, "step" | "tokens" | "pending"> & { logs: Log[] }) | undefined {
  const { global_step: step, num_input_tokens_seen: tokens, log_history: history } = state;
  const { losses, metrics = {} } = attributesOf(state);
  if (typeof step !== "number" || typeof tokens !== "number" || !Array.isArray(history)) return;
  if (!Array.isArray(losses)) return;
  return {
    step,
    tokens,
    pending: { losses: losses as number[], metrics: metrics as PendingSteps["metrics"] },
    logs: logsOf(history as Record<string, number>[]),
  };
}

/** The inverse of `historyOf`. */
function logsOf(history: Record<string, number>[]): Log[] {
  const isEvaluation = (entry: Record<string, number>) => "eval_loss" in entry;
  const evalLosses = new Map(
    history.filter(isEvaluation).map(({ step, eval_loss: evalLoss }) => [step, evalLoss]),
  );
  const trained = history.filter((entry) => !isEvaluation(entry));
  return trained.map((entry) => {
    const { step = 0, epoch, loss, learning_rate: learningRate, grad_norm: gradNorm } = entry;
    const { metrics } = entry as Pick<Log, "metrics">;
    const evalLoss = evalLosses.get(step);
    const evaluated = evalLosses.has(step) && { evalLoss };
    return { step, epoch, loss, learningRate, gradNorm, ...evaluated, ...(metrics && { metrics }) };
  });
}

/** AdamW's moments, by tensor name. */
export interface Moments {
  first: Weights;
  second: Weights;
}

/** The state that a training run resumes from; with LoRA, only the adapter's weights. */
export interface TrainedState {
  weights: Weights;
  /** Undefined without the optimizer's file, which only a job's newest checkpoint has. */
  moments?: Moments;
}

export const OPTIMIZER_FILE = "optimizer.safetensors";
/** PyTorch's names of the moments. */
const [FIRST, SECOND] = ["exp_avg.", "exp_avg_sq."];

export function optimizerFiles({ first, second }: Moments): Record<string, Uint8Array[]> {
  const tensors = { ...prefixed(FIRST, first), ...prefixed(SECOND, second) };
  return { [OPTIMIZER_FILE]: writeSafetensors(tensors) };
}

/**
 * @param path a checkpoint of the trained model or adapter
 * @throws KitError `CHECKPOINT_INVALID` for a damaged one, `CANNOT_RESUME` for another model's
 */
export function readTrainedState(
  path: string,
  shape: Dimensions,
  lora: LoraConfig | undefined,
): TrainedState {
  const file = join(path, ADAPTER_CONFIG);
  const adapter = readConfig(file, "optional");
  const saved = adapter ? llamaAdapterOf(file, adapter).lora : sizesOf(openModel(path).shape);
  if (!isDeepStrictEqual(saved, lora ? withoutType(lora) : sizesOf(shape))) {
    throw new KitError(
      "CANNOT_RESUME",
      `${path} belongs to a different model or adapter than the trainer's, so training cannot resume from it. Undo the change, or start without resume.`,
    );
  }
  const shapes = lora ? adapterShapes(lora, shape) : weightShapes(shape);
  const storedShapes = lora ? toPeftNames(shapes) : shapes;
  const tensors = join(path, lora ? ADAPTER_FILE : WEIGHTS_FILE);
  const weights = widen(readAll(openTensors(tensors, storedShapes)));
  return {
    weights: lora ? fromPeftNames(weights) : weights,
    ...(existsSync(join(path, OPTIMIZER_FILE)) && { moments: readMoments(path, shapes) }),
  };
}

/** The options that an adapter's files record. */
function withoutType({ baseType: _, ...adapter }: LoraConfig): Omit<LoraConfig, "baseType"> {
  return adapter;
}

/** Without the family's name: earlier versions of Kit saved Mistral's as Llama's. */
function sizesOf({ family: _, ...sizes }: Dimensions): Omit<Dimensions, "family"> {
  return sizes;
}

function readMoments(path: string, shapes: Record<string, number[]>): Moments {
  const prefixedShapes = { ...prefixed(FIRST, shapes), ...prefixed(SECOND, shapes) };
  const read = widen(readAll(openTensors(join(path, OPTIMIZER_FILE), prefixedShapes)));
  return { first: withoutPrefix(FIRST, read, shapes), second: withoutPrefix(SECOND, read, shapes) };
}

function prefixed<T>(prefix: string, byName: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(byName).map(([name, value]) => [prefix + name, value]));
}

function withoutPrefix(prefix: string, read: Weights, shapes: Record<string, number[]>): Weights {
  return Object.fromEntries(Object.keys(shapes).map((name) => [name, read[prefix + name]!]));
}

/** The state of a resumed run; step 0 for a new one. */
export interface ResumedRun extends NonNullable<ReturnType<typeof progressOf>> {
  state?: TrainedState;
}

/** @param path a checkpoint's directory; undefined for a new run @throws KitError `CHECKPOINT_INVALID` */
export function readResumedRun(
  path: string | undefined,
  shape: Dimensions,
  lora: LoraConfig | undefined,
): ResumedRun {
  if (path === undefined)
    return { step: 0, tokens: 0, pending: { losses: [], metrics: {} }, logs: [] };
  const state = readTrainedState(path, shape, lora);
  const progress = progressOf(readState(path));
  if (progress) return { ...progress, state };
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${join(path, STATE_FILE)} does not record the progress of training. Use a checkpoint that Kit saved.`,
  );
}
