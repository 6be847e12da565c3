import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { type ModelShape, type PresetName, isModelPath } from "../../protocol/trainConfig.ts";
import { type HubName, parseHubName } from "../hub/hubName.ts";
import { type Dimensions, MOST_LAYERS, dimensionsOf } from "./dimensions.ts";

/** Named shapes that start from random weights. */
export const PRESETS = {
  "kit/nano": { width: 64, layers: 2, heads: 4, context: 256 },
  "kit/small": { width: 96, layers: 3, heads: 4, context: 256 },
} as const satisfies Record<PresetName, ModelShape>;

/** Where a model's weights come from, on this machine. */
export type LocatedModel =
  | { kind: "shape"; name: string; shape: Dimensions }
  /** `commit`: on the hub, if it came from there. */
  | { kind: "checkpoint"; name: string; directory: string; commit?: string };

/** Where a model's weights come from. */
export type ModelSource = LocatedModel | ({ kind: "hub"; name: string } & HubName);

/**
 * Resolves a preset's name, a shape, a name on the hub, or the path of a checkpoint directory. Reads nothing.
 * @throws KitError `MODEL_UNKNOWN` for a name that does not exist, `MODEL_INVALID` for a wrong shape
 */
export function resolveModel(model: string | ModelShape): ModelSource {
  if (typeof model !== "string") {
    assertShape(model);
    const { layers, heads, width, context } = model;
    const name = `llama-${width}x${layers}`;
    return { kind: "shape", name, shape: dimensionsOf({ layers, heads, width, context }) };
  }
  if (Object.hasOwn(PRESETS, model)) {
    return { kind: "shape", name: model, shape: dimensionsOf(PRESETS[model as PresetName]) };
  }
  if (isModelPath(model)) return { kind: "checkpoint", name: model, directory: model };
  const hubName = parseHubName(model);
  if (hubName) return { kind: "hub", name: model, ...hubName };
  const names = Object.keys(PRESETS).join(", ");
  throw new KitError(
    "MODEL_UNKNOWN",
    `Unknown model "${model}". Use ${names}, a shape { layers, heads, width, context }, a name on the Hugging Face hub such as "org/name" or "org/name@revision", or the path of a checkpoint directory, which begins with "./" or "/".`,
  );
}

/** @throws KitError `MODEL_INVALID` naming the wrong size */
export function assertShape(shape: ModelShape): void {
  for (const key of ["layers", "heads", "width", "context"] as const) {
    if (!Number.isSafeInteger(shape[key]) || shape[key] < 1) {
      throw new KitError(
        "MODEL_INVALID",
        `model.${key} must be a positive whole number, not ${String(shape[key])}.`,
      );
    }
  }
  const { layers, heads, width, context } = shape;
  if (layers > MOST_LAYERS) {
    throw new KitError(
      "MODEL_INVALID",
      `model.layers must be at most ${formatCount(MOST_LAYERS)}, not ${formatCount(layers)}.`,
    );
  }
  if (width % (2 * heads) !== 0) {
    throw new KitError(
      "MODEL_INVALID",
      `model.width (${width}) must be a multiple of twice model.heads (2 × ${heads}), because each head needs an even size.`,
    );
  }
  if (context < SHORTEST_CONTEXT) {
    throw new KitError(
      "MODEL_INVALID",
      `model.context must be at least ${SHORTEST_CONTEXT} tokens, not ${context}.`,
    );
  }
}

/** A row needs its start, a token to read and a token to learn. */
const SHORTEST_CONTEXT = 8;
