import { createRandom } from "../engines/dataset/random.ts";
import { createEmbeddedEngine } from "../engines/embedded/index.ts";
import { PRESETS } from "../engines/families/modelSource.ts";
import { parseHubName } from "../engines/hub/hubName.ts";
import * as checkFolder from "../engines/training/checkFolder.ts";
import * as divergence from "../engines/training/diverged.ts";
import type { MaterializeOptions, MaterializedDatasets } from "../protocol/dataset.ts";
import type { CachedModel, Engine, LoadOptions } from "../protocol/engine.ts";
import type { KitError } from "../protocol/error.ts";
import type { ExportFormatName, GgufType } from "../protocol/exportFormat.ts";
import type { HeldOutRows, HeldOutRowsOptions } from "../protocol/metric.ts";
import type { PushOptions, PushResult } from "../protocol/push.ts";
import type { JobConfig, TrainConfig } from "../protocol/trainConfig.ts";

/** Types are written out, because the package's types must not include an engine's. */
export const makeCheckFolder: () => string = checkFolder.makeCheckFolder;
export const removeCheckFolder: (directory: string) => void = checkFolder.removeCheckFolder;
export const diverged: (how: string, peak: number) => KitError = divergence.diverged;

/**
 * The default engine's adapter targets, for editors to suggest. Written out, because the package's types
 * must not include an engine's; by `keyof`, so that compiler errors list them.
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

/** Whether a name is one of Kit's own models or may be one on the hub. */
export function isInitialModelName(name: string): boolean {
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

/** Writes a checkpoint, or an adapter with its base, as a whole model. Returns the path to load, and its bytes. */
export async function exportModel(
  checkpoint: string,
  target: string,
  options: ExportOptions,
): Promise<{ path: string; bytes: number }> {
  const { exportModel } = await import("../engines/export/exportModel.ts");
  return exportModel(checkpoint, target, options);
}

/** Pushes a checkpoint to the hub, with a card. */
export async function pushModel(checkpoint: string, options: PushOptions): Promise<PushResult> {
  const { pushModel } = await import("../engines/export/pushModel.ts");
  return pushModel(checkpoint, options);
}

/** Writes the rows of datasets into a job's folder, where every engine reads them. */
export async function materializeDatasets<Config extends TrainConfig>(
  config: Config,
  options: MaterializeOptions,
): Promise<MaterializedDatasets<Config>> {
  const { materializeDatasets } = await import("../engines/training/materializeDatasets.ts");
  return materializeDatasets(config, options);
}

/** Chooses the held-out rows to evaluate on. */
export async function chooseHeldOutRows(
  config: TrainConfig,
  choice: HeldOutRowsOptions,
): Promise<HeldOutRows> {
  const { chooseHeldOutRows } = await import("../engines/training/heldOutRows.ts");
  return chooseHeldOutRows(config, choice);
}

/** Token limit that fits every answer in the job's dataset, by the job's own tokenizer; undefined if it trained on plain text. */
export async function maxAnswerTokens(
  config: JobConfig,
  directory: string,
  model: string,
): Promise<number | undefined> {
  const { maxAnswerTokens } = await import("../engines/training/learnedAnswers.ts");
  return maxAnswerTokens({ ...(await materializedConfig(config, directory)), model }, {});
}

/** The system message that all rows of a job share, if the rows are on this machine. */
export async function sharedSystem(
  config: JobConfig,
  directory: string,
): Promise<string | undefined> {
  const { sharedSystem } = await import("../engines/training/learnedAnswers.ts");
  try {
    return sharedSystem(await materializedConfig(config, directory));
  } catch {
    // They were deleted, or never were here.
    return undefined;
  }
}

/** Calls `use` with the folder of a training run's initial model. */
export async function withInitialModel<T>(
  config: TrainConfig,
  options: LoadOptions,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const { withInitialModel } = await import("../engines/checkpoint/locateModel.ts");
  return withInitialModel(config, options, use);
}

/** The config with the datasets in the job's folder. */
export async function materializedConfig(config: JobConfig, directory: string): Promise<JobConfig> {
  const { materializedConfig } = await import("../engines/training/materializeDatasets.ts");
  return materializedConfig(config, directory);
}

export function createDefaultEngine(): Engine {
  return createEmbeddedEngine();
}

/** A seeded generator of numbers from 0 to 1; `stream` names independent sequences of one seed. */
export function createUniform(seed: number, stream: string): () => number {
  return createRandom(seed, stream).uniform;
}
