import { dirname } from "node:path";
import { identityOf, identityOfInitialModel } from "../../jobs/answerCache.ts";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { readEngineName } from "../../jobs/jobFile.ts";
import type { Engine, EngineModel, LoadOptions } from "../../protocol/engine.ts";
import { KitError, isKitError, messageOf } from "../../protocol/error.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { createDefaultEngine, withInitialModel } from "../engine.ts";
import { checkOptions } from "../options.ts";
import { findArtifact } from "./artifact.ts";
import { type GuardedModel, lazyModel } from "./engineModel.ts";
import { loadGuarded } from "./load.ts";
import type { ModelProject, ModelReference, InitialModel } from "./reference.ts";

interface OpenOptions extends Omit<LoadOptions, "onNote"> {
  /** Default: the embedded one. */
  engine?: Engine | undefined;
}

/** The engine that trained a model, if it isn't the default one and the project's trainer uses it. */
export async function engineOf(
  project: ModelProject,
  reference: ModelReference,
): Promise<Engine | undefined> {
  const name = readEngineName(trainingDirectory(reference));
  if (name === undefined || name === createDefaultEngine().name) return undefined;
  const engine = await project.engine();
  return engine.name === name && !engine.trainsOnly ? engine : undefined;
}

function trainingDirectory(reference: ModelReference): string {
  if (reference.job || reference.kind === "base") return reference.job?.directory ?? "";
  const { directory } = reference;
  return isRemoteArtifact(directory) ? dirname(dirname(directory)) : directory;
}

/**
 * Loads a model for inference. Falls back to the embedded engine if the Python of the model's engine is
 * missing.
 * @throws KitError as `loadModel`; if neither engine can load it, an error that says why for both
 */
export function openModel(
  project: ModelProject,
  reference: ModelReference,
  options: OpenOptions,
): Promise<GuardedModel> {
  return withFolder(project, reference, options, (directory) =>
    load(project, reference, directory, options),
  );
}

/**
 * Calls `use` with a lazily loaded model, on the engine that trained it.
 * @param use `identity` changes with the model
 */
export function useModel<T>(
  project: ModelProject,
  reference: ModelReference,
  signal: AbortSignal,
  use: (model: Pick<EngineModel, "infer">, identity: string) => Promise<T>,
): Promise<T> {
  return withFolder(project, reference, { signal }, async (directory) => {
    const isSaved = reference.kind === "saved";
    const identity = isSaved
      ? identityOf(directory)
      : identityOfInitialModel(configOf(reference), directory);
    const open = async () =>
      load(project, reference, directory, { engine: await engineOf(project, reference), signal });
    const model = lazyModel(`of ${reference.name}`, open, project.onNote);
    try {
      return await use(model, identity);
    } finally {
      await model.close();
    }
  });
}

/** Calls `use` with the folder of a model's files. */
async function withFolder<T>(
  { onNote }: ModelProject,
  reference: ModelReference,
  { signal }: OpenOptions,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  if (reference.kind === "saved") return use(findArtifact(reference.directory));
  const options = { ...(signal && { signal }), onNote };
  try {
    return await withInitialModel(configOf(reference), options, use);
  } catch (error) {
    if (reference.job || !isKitError(error) || !NOT_ON_HUB.has(error.code)) throw error;
    const missing = `There is no local folder ${reference.name}, either; check the name.`;
    throw new KitError(error.code, `${error.message} ${missing}`, { cause: error });
  }
}

const NOT_ON_HUB = new Set(["MODEL_UNKNOWN", "HUB_UNREACHABLE"]);

/** The config of a job's model, or defaults for one from the hub. */
export function configOf({ name, job }: Pick<InitialModel, "name" | "job">): JobConfig {
  return job?.config ?? checkOptions({ name: "model", model: name, dataset: [] }).config;
}

async function load(
  { kit, onNote }: ModelProject,
  reference: ModelReference,
  directory: string,
  { engine, ...loadOptions }: OpenOptions,
): Promise<GuardedModel> {
  // An adapter's base is quantized as it was for training.
  const quantize = reference.kind === "base" ? reference.job?.config.lora?.baseType : undefined;
  const options = { ...(quantize && { quantize }), ...loadOptions, onNote };
  if (!engine) return loadGuarded(directory, options);
  try {
    return await loadGuarded(directory, { engine, ...options });
  } catch (error) {
    if (!isKitError(error) || !NO_PYTHON.has(error.code)) throw error;
    const install = kit("python install");
    const model = await loadGuarded(directory, options).catch((embeddedError: unknown) => {
      throw bothFailed(error, install, embeddedError);
    });
    onNote(
      `the embedded engine answers, because the Python that trained this model is missing; to install one, run: ${install}`,
    );
    return model;
  }
}

const NO_PYTHON = new Set(["PYTHON_NOT_FOUND", "PYTHON_UNFIT"]);

function bothFailed(python: KitError, install: string, embedded: unknown): KitError {
  return new KitError(
    python.code,
    `${python.message} To install a Python, run: ${install}. The embedded engine cannot load this model, either: ${messageOf(embedded)}`,
    { cause: embedded },
  );
}
