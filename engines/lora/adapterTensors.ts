import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { LlamaShape } from "../families/dimensions.ts";
import { PROJECTIONS } from "../families/projections.ts";
import { type WeightsFile, listTensors, openTensors } from "../modelFiles/tensorFiles.ts";
import { countOf } from "../modelFiles/weights.ts";
import { adapterShapes } from "./adapter.ts";
import {
  type SavedAdapter,
  ADAPTER_CONFIG,
  ADAPTER_FILE,
  isSet,
  toPeftNames,
  unknown,
} from "./peftConfig.ts";

/**
 * Opens the tensors of an adapter to Llama's projections, whichever `target_modules` of PEFT chose
 * them: names, full paths, `"all-linear"` or a regular expression.
 * @param path of the adapter
 * @param shape of its base
 * @throws KitError `CHECKPOINT_INVALID` when it has others, or a tensor is missing or of another shape
 */
export function openAdapterTensors(
  path: string,
  config: Record<string, unknown>,
  { r, alpha }: SavedAdapter,
  shape: LlamaShape,
): WeightsFile {
  const file = join(path, ADAPTER_FILE);
  const { target_modules: targets, exclude_modules: excluded } = config;
  const all = toPeftNames(adapterShapes({ r, alpha, targetModules: [...PROJECTIONS] }, shape));
  const isListed = Array.isArray(targets) && !isSet(excluded);
  const isAdapted = isListed ? isTarget(targets) : isIn(file);
  const shapes = Object.fromEntries(
    Object.entries(all).filter(([name]) => isAdapted(name.replace(TENSOR, ""))),
  );
  if (!isSet(targets) || Object.keys(shapes).length === 0)
    throw unknown(join(path, ADAPTER_CONFIG));
  const tensors = openTensors([file], countOf(shapes)).choose(shapes);
  const other = [...listTensors(file).entries.keys()].find((name) => !Object.hasOwn(shapes, name));
  if (other === undefined) return tensors;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${file} has ${other}, which Kit cannot apply. Use a model into which PEFT's merge_and_unload has merged it.`,
  );
}

const TENSOR = /\.lora_[AB]\.weight$/;

/** Follows PEFT's rule: a module's path, or the end of it. */
function isTarget(targets: unknown[]): (module: string) => boolean {
  return (module) =>
    targets.some((target) => typeof target === "string" && module.endsWith(`.${target}`));
}

function isIn(file: string): (module: string) => boolean {
  const names = [...listTensors(file).entries.keys()];
  const modules = new Set(names.map((name) => name.replace(TENSOR, "")));
  return (module) => modules.has(module);
}
