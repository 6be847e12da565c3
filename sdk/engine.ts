import { createRandom } from "../engines/dataset/random.ts";
import { createEmbeddedEngine } from "../engines/embedded/index.ts";
import { PRESETS } from "../engines/families/modelSource.ts";
import { parseHubName } from "../engines/hub/hubName.ts";
import * as checkFolder from "../engines/training/checkFolder.ts";
import * as divergence from "../engines/training/diverged.ts";
import type { FreezeJobOptions, Frozen } from "../protocol/dataset.ts";
import type { CachedModel, Engine, LoadOptions } from "../protocol/engine.ts";
import type { KitError } from "../protocol/error.ts";
import type { ExportFormatName, GgufType } from "../protocol/exportFormat.ts";
import type { HeldOutQuestions, QuestionChoice } from "../protocol/metric.ts";
import type { JobConfig, TrainConfig } from "../protocol/trainConfig.ts";

/** Types are spelled out where a function is handed on, because the package's types hold nothing of an engine. */
export const makeCheckFolder: () => string = checkFolder.makeCheckFolder;
export const removeCheckFolder: (directory: string) => void = checkFolder.removeCheckFolder;
export const diverged: (how: string, peak: number) => KitError = divergence.diverged;

/**
 * The default engine's adapter targets, which an editor offers. Spelled out, because the package's
 * types hold nothing of an engine; by `keyof`, so that the compiler's errors list them.
 */
export type Projection = keyof Record<
  "q_proj" | "k_proj" | "v_proj" | "o_proj" | "gate_proj" | "up_proj" | "down_proj",
  unknown
>;

/** The Hugging Face models cached on this machine, as the default engine sees them. */
export async function listCachedModels(): Promise<{ cache: string; models: CachedModel[] }> {
  const { cachedModels } = await import("../engines/embedded/cachedModels.ts");
  return cachedModels();
}

/** Whether a training can start from it: one of Kit's own models, or one that the hub may have. */
export function isStartingName(name: string): boolean {
  return Object.hasOwn(PRESETS, name) || parseHubName(name) !== undefined;
}

/** How `exportModel` writes. */
interface ExportOptions extends LoadOptions {
  format?: ExportFormatName;
  name?: string;
  system?: string | undefined;
  type?: GgufType;
  adapterOnly?: boolean;
}

/** Writes a checkpoint, or an adapter with its base, as a whole model. Says what to load, and its bytes. */
export async function exportModel(
  checkpoint: string,
  target: string,
  options: ExportOptions,
): Promise<{ path: string; bytes: number }> {
  const { exportModel } = await import("../engines/export/exportModel.ts");
  return exportModel(checkpoint, target, options);
}

/** Writes the rows of datasets into a job's folder, where every engine reads them. */
export async function freezeDatasets<Config extends TrainConfig>(
  config: Config,
  options: FreezeJobOptions,
): Promise<Frozen<Config>> {
  const { freezeDatasets } = await import("../engines/training/freezeDatasets.ts");
  return freezeDatasets(config, options);
}

/** Chooses the held-out rows that a trainer's model is asked. */
export async function heldOutQuestions(
  config: TrainConfig,
  choice: QuestionChoice,
): Promise<HeldOutQuestions> {
  const { heldOutQuestions } = await import("../engines/training/heldOutQuestions.ts");
  return heldOutQuestions(config, choice);
}

/** Enough tokens for any answer that a job learned, by a model of its own; undefined if it learned texts. */
export async function learnedTokens(
  config: JobConfig,
  directory: string,
  model: string,
): Promise<number | undefined> {
  const { learnedTokens } = await import("../engines/training/learnedAnswers.ts");
  return learnedTokens({ ...(await frozenConfig(config, directory)), model }, {});
}

/** The system message that all rows of a job begin with, if they have one and are on this machine. */
export async function sharedSystem(
  config: JobConfig,
  directory: string,
): Promise<string | undefined> {
  const { sharedSystem } = await import("../engines/training/learnedAnswers.ts");
  return sharedSystem(await frozenConfig(config, directory));
}

/** Lends the folder of the model that a training starts from. */
export async function withStartingModel<T>(
  config: TrainConfig,
  options: LoadOptions,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const { withStartingModel } = await import("../engines/checkpoint/locateModel.ts");
  return withStartingModel(config, options, use);
}

/** The config with the datasets that a job has in its folder. */
export async function frozenConfig(config: JobConfig, directory: string): Promise<JobConfig> {
  const { frozenConfig } = await import("../engines/training/freezeDatasets.ts");
  return frozenConfig(config, directory);
}

/** For a trainer, or a saved model, without an engine of its own. */
export function createDefaultEngine(): Engine {
  return createEmbeddedEngine();
}

/** Numbers from 0 to 1, the same for a seed; `stream` separates sequences that share it. */
export function createUniform(seed: number, stream: string): () => number {
  return createRandom(seed, stream).uniform;
}
