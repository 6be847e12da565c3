import { existsSync } from "node:fs";
import { join } from "node:path";
import { KitError } from "../../protocol/error.ts";
import type { Dimensions } from "../families/dimensions.ts";
import { PROJECTIONS } from "../families/projections.ts";
import { openSafetensors } from "../modelFiles/safetensors.ts";
import { chooseTensors, listTensors, renamed } from "../modelFiles/tensorFiles.ts";
import type { TensorSource } from "../modelFiles/tensors.ts";
import { countOf } from "../modelFiles/weights.ts";
import { adapterShapes } from "./adapter.ts";
import { type FoundAdapter } from "./base.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_FILE,
  isSet,
  moduleOf,
  peftName,
  savedName,
  untargeted,
} from "./peftConfig.ts";

/**
 * Opens the tensors of an adapter for Llama's projections, whatever the form of PEFT's `target_modules`: names, paths,
 * `"all-linear"` or a regular expression.
 * @param path of the adapter
 * @param shape of its base
 * @returns tensors with PEFT's names
 * @throws KitError `CHECKPOINT_INVALID` if a tensor is unexpected, missing or of another shape
 */
export function openAdapterTensors(
  path: string,
  { config, r, alpha, rankOf }: FoundAdapter,
  shape: Dimensions,
): TensorSource {
  const file = adapterFile(path);
  const targetModules = [...PROJECTIONS];
  const fullRank = Object.entries(adapterShapes({ r, alpha, targetModules }, shape));
  const ranked = fullRank.map(([name, [rows = 0, columns = 0]]): [string, number[]] => {
    const rank = rankOf(moduleOf(name));
    return [peftName(name), name.endsWith("lora_A.weight") ? [rank, columns] : [rows, rank]];
  });
  const isAdapted = targetRule(config) ?? storedRule(file);
  const shapes = Object.fromEntries(ranked.filter(([name]) => isAdapted(moduleOf(name))));
  if (Object.keys(shapes).length === 0) throw untargeted(join(path, ADAPTER_CONFIG));
  const stored = listTensors([file], countOf(shapes));
  const tensors = chooseTensors(renamed(stored, savedName), shapes, file);
  const names = [...stored.keys()];
  const unexpected = names.find(
    (name, i) =>
      !Object.hasOwn(shapes, savedName(name)) ||
      names.findIndex((first) => savedName(first) === savedName(name)) !== i,
  );
  if (unexpected === undefined) return tensors;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${file} has ${unexpected}, which Kit cannot apply. Use a model into which PEFT's merge_and_unload has merged it.`,
  );
}

/**
 * The file of an adapter's tensors.
 * @throws KitError `CHECKPOINT_INVALID` for a pickled one
 */
export function adapterFile(path: string): string {
  const file = join(path, ADAPTER_FILE);
  if (existsSync(file) || !existsSync(join(path, PICKLED))) return file;
  throw new KitError(
    "CHECKPOINT_INVALID",
    `${path} has its weights in ${PICKLED}, a format that can run code. Save it again with a PEFT that writes ${ADAPTER_FILE}.`,
  );
}

const PICKLED = "adapter_model.bin";

/** PEFT's rule for a list of targets, each a module's path or the path's end; undefined for other forms. */
function targetRule(config: Record<string, unknown>): ((module: string) => boolean) | undefined {
  const { target_modules: targets, exclude_modules: excluded } = config;
  if (!Array.isArray(targets) || isSet(excluded)) return undefined;
  const isLayer = layerRule(config);
  return (module) =>
    targets.includes(module) ||
    (isLayer(module) &&
      targets.some((target) => typeof target === "string" && module.endsWith(`.${target}`)));
}

/** The rule of `layers_to_transform`. */
function layerRule({
  layers_to_transform: given,
  layers_pattern: pattern,
}: Record<string, unknown>) {
  const layers = typeof given === "number" ? [given] : given;
  if (!Array.isArray(layers) || layers.length === 0) return () => true;
  const hasOtherPattern = isSet(pattern) && ![pattern].flat().includes("layers");
  return (module: string) =>
    !hasOtherPattern && layers.includes(Number(/\.layers\.(\d+)\./.exec(`.${module}`)?.[1]));
}

/** Adapted modules are those whose tensors the file has. */
function storedRule(file: string): (module: string) => boolean {
  const modules = new Set([...openSafetensors(file).tensors.keys()].map(moduleOf));
  return (module) => modules.has(module);
}
