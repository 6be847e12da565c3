import { KitError } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { type ModelShape, type PresetName, isModelPath } from "../../protocol/trainConfig.ts";
import { type HubName, parseHubName } from "../hub/hubName.ts";
import { type Dimensions, MAX_LAYERS, dimensionsOf } from "./dimensions.ts";

/** Built-in shapes, which start from random weights. */
export const PRESETS = {
  "kit/nano": { width: 64, layers: 2, heads: 4, context: 256 },
  "kit/small": { width: 96, layers: 3, heads: 4, context: 256 },
} as const satisfies Record<PresetName, ModelShape>;

/** A local source of a model's weights. */
export type LocatedModel =
  | { kind: "untrained"; name: string; dimensions: Dimensions }
  /** `commit`: set if it came from the hub. */
  | { kind: "checkpoint"; name: string; directory: string; commit?: string };

/** A source of a model's weights. */
export type ModelSource = LocatedModel | ({ kind: "hub"; name: string } & HubName);

/**
 * Resolves a preset, a shape, a name on the hub, or a checkpoint's path. Reads nothing.
 * @throws KitError `MODEL_UNKNOWN` for an unknown name, `MODEL_INVALID` for a wrong shape
 */
export function resolveModel(model: string | ModelShape): ModelSource {
  if (typeof model !== "string") {
    assertShape(model);
    const { layers, heads, width, context } = model;
    const name = `llama-${width}x${layers}`;
    return { kind: "untrained", name, dimensions: dimensionsOf({ layers, heads, width, context }) };
  }
  if (Object.hasOwn(PRESETS, model)) {
    return {
      kind: "untrained",
      name: model,
      dimensions: dimensionsOf(PRESETS[model as PresetName]),
    };
  }
  if (isModelPath(model)) return { kind: "checkpoint", name: model, directory: model };
  const hubName = parseHubName(model);
  if (hubName) return { kind: "hub", name: model, ...hubName };
  const names = Object.keys(PRESETS).join(", ");
  throw new KitError(
    "MODEL_UNKNOWN",
    `Unknown model "${model}". Use ${names}, a shape { layers, heads, width, context }, a name on the Hugging Face Hub such as "org/name" or "org/name@revision", or the path of a checkpoint directory, which begins with "./" or "/".`,
  );
}

/** @throws KitError `MODEL_INVALID` */
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
  if (layers > MAX_LAYERS) {
    throw new KitError(
      "MODEL_INVALID",
      `model.layers must be at most ${formatCount(MAX_LAYERS)}, not ${formatCount(layers)}.`,
    );
  }
  if (width % (2 * heads) !== 0) {
    throw new KitError(
      "MODEL_INVALID",
      `model.width (${width}) must be a multiple of twice model.heads (2 × ${heads}), because each head needs an even size.`,
    );
  }
  if (context < MIN_CONTEXT) {
    throw new KitError(
      "MODEL_INVALID",
      `model.context must be at least ${MIN_CONTEXT} tokens, not ${context}.`,
    );
  }
}

/** Room for the tokens around a row, a prompt token and a learned token. */
const MIN_CONTEXT = 8;
