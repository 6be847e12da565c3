import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remove } from "../../disk/move.ts";
import type { LoadOptions, TrainOptions } from "../../protocol/engine.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { type LocatedModel, resolveModel } from "../families/modelSource.ts";
import { randomWeights } from "../families/randomWeights.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { fetchBase } from "../lora/base.ts";
import { saveModel } from "./checkpoint.ts";
import { startedFrom } from "./trainerState.ts";

type Options = Pick<TrainOptions, "resumeFrom"> & Omit<FetchOptions, "settings">;

/**
 * Finds a model on this machine, downloading a hub model first. A resumed run uses the commit that it began with.
 * @throws KitError as `resolveModel` and `fetchModel`
 */
export async function locateModel(
  model: TrainConfig["model"],
  { resumeFrom, ...options }: Options,
): Promise<LocatedModel> {
  const source = resolveModel(model);
  if (source.kind === "checkpoint") await fetchBase(source.directory, options);
  if (source.kind !== "hub") return source;
  const resumed = startedFrom(resumeFrom);
  const revision = resumed?.model === model ? resumed.commit : source.revision;
  const { fetchModel } = await import("../hub/fetchModel.ts");
  const found = await fetchModel({ ...source, revision }, options);
  return { kind: "checkpoint", name: source.name, ...found };
}

/**
 * Calls `use` with the folder of a training run's initial model, which is temporary for random weights.
 * @throws KitError as `locateModel`
 */
export async function withInitialModel<T>(
  { model, seed }: TrainConfig,
  options: LoadOptions,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const source = await locateModel(model, options);
  if (source.kind === "checkpoint") return use(source.directory);
  const folder = mkdtempSync(join(tmpdir(), "kit-start-"));
  try {
    const directory = join(folder, "model");
    const { dimensions: shape } = source;
    saveModel(directory, randomWeights(shape, seed), { shape, promptStyle: "message" });
    return await use(directory);
  } finally {
    remove(folder);
  }
}
