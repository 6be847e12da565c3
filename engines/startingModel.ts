import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LoadOptions } from "../protocol/engine.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { saveModel } from "./checkpoint/checkpoint.ts";
import { locateModel } from "./checkpoint/locateModel.ts";
import { randomWeights } from "./families/randomWeights.ts";

/**
 * Lends the folder of the model that a training starts from: a temporary one for random weights.
 * @throws KitError as of a model that cannot be downloaded
 */
export async function withStartingModel<T>(
  { model, seed }: TrainConfig,
  options: LoadOptions,
  use: (directory: string) => Promise<T>,
): Promise<T> {
  const source = await locateModel(model, options);
  if (source.kind === "checkpoint") return use(source.directory);
  const folder = mkdtempSync(join(tmpdir(), "kit-start-"));
  try {
    const directory = join(folder, "model");
    const { shape } = source;
    saveModel(directory, randomWeights(shape, seed), { shape, promptStyle: "message" });
    return await use(directory);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
