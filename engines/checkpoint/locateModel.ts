import type { TrainOptions } from "../../protocol/engine.ts";
import type { TrainConfig } from "../../protocol/trainConfig.ts";
import { type LocatedModel, resolveModel } from "../families/modelSource.ts";
import type { FetchOptions } from "../hub/fetchModel.ts";
import { fetchBase } from "../lora/base.ts";
import { startedFrom } from "./trainerState.ts";

type Options = Pick<TrainOptions, "resumeFrom"> & Omit<FetchOptions, "settings">;

/**
 * Finds a model on this machine, downloading it first if it is one of the hub. A training that is
 * resumed finds the commit again that it began with.
 * @throws KitError as `resolveModel` and `fetchModel`
 */
export async function locateModel(
  model: TrainConfig["model"],
  { resumeFrom, ...options }: Options,
): Promise<LocatedModel> {
  const source = resolveModel(model);
  if (source.kind === "checkpoint") await fetchBase(source.directory, options);
  if (source.kind !== "hub") return source;
  const begun = startedFrom(resumeFrom);
  const revision = begun?.model === model ? begun.commit : source.revision;
  const { fetchModel } = await import("../hub/fetchModel.ts");
  const found = await fetchModel({ ...source, revision }, options);
  return { kind: "checkpoint", name: source.name, ...found };
}
