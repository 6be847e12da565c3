import { inspect } from "node:util";
import * as v from "valibot";
import { type ModelSource, PROJECTIONS, resolveModel } from "../engines/embedded/index.ts";
import type { PresetName, Projection } from "../protocol/modelNames.ts";
import type { ModelShape } from "../protocol/trainConfig.ts";
import { KitError, messageOf } from "../protocol/error.ts";
import type { TrainerCallbacks } from "./callbacks.ts";
import { isPath } from "./config.ts";
import { describeIssue, optionsSchema } from "./optionsSchema.ts";

/** Any text, but an editor goes on offering what it stands beside. */
type OtherText = string & Record<never, never>;

/** Low-rank adaptation, with PEFT's names: the base model is frozen, an adapter is trained. */
export interface LoraConfig {
  /** Rank of the update. */
  r: number;
  /** The update is scaled by `alpha / r`. */
  alpha: number;
  /** Llama's projection names. Default `["q_proj", "v_proj"]`. */
  targetModules?: Projection[];
}

/** What `createTrainer` takes. Names follow Hugging Face's `TrainingArguments`. */
export interface TrainerOptions {
  /** Shown in the page and on its button. */
  name: string;
  /**
   * `"kit/nano"` or `"kit/small"`, sizes of your own, or the path of a checkpoint directory
   * (beginning with `.` or `/`) to go on from. Default `"kit/nano"`.
   */
  model?: PresetName | OtherText | ModelShape;
  dataset: {
    type: "jsonl";
    /** Relative to the project. One `{"messages"}`, `{"prompt","completion"}` or `{"text"}` a line. */
    path: string;
  };
  /** Trains an adapter and leaves the model as it is. Default: the whole model is trained. */
  lora?: LoraConfig;
  /** Default 400. */
  maxSteps?: number;
  /** Rows a step. Default 32. */
  batchSize?: number;
  /** Longest row in tokens; what is longer is cut. Default: the model's context. */
  maxLength?: number;
  /** Peak of the schedule: linear warm-up, then cosine to a tenth of it. Default 0.004. */
  learningRate?: number;
  /** Default 20. */
  warmupSteps?: number;
  /** Decoupled, as in AdamW. Default 0.01. */
  weightDecay?: number;
  /** The gradient's global L2 norm is clipped to this. Default 1. */
  maxGradNorm?: number;
  /** Steps between two log events; the first two and the last are always logged. Default 5. */
  loggingSteps?: number;
  /** Steps between two checkpoints; the last step is always saved. Default 100. */
  saveSteps?: number;
  /** The same seed gives the same losses. Default 42. */
  seed?: number;
  callbacks?: TrainerCallbacks;
  /** Aborting it cancels the job. */
  abortSignal?: AbortSignal;
}

/** The options, checked and with their defaults. */
export type CheckedOptions = Omit<v.InferOutput<typeof optionsSchema>, "callbacks"> & {
  callbacks: TrainerCallbacks;
};

/** @throws KitError `INVALID_OPTION` naming the option, what was expected and what was found */
export function checkOptions(options: TrainerOptions): CheckedOptions {
  const result = v.safeParse(optionsSchema, options, { abortEarly: true });
  if (!result.success) throw new KitError("INVALID_OPTION", describeIssue(result.issues[0]));
  checkFit(result.output);
  return { ...result.output, callbacks: options.callbacks ?? {} };
}

/** What the single options cannot tell: whether they fit the model. */
function checkFit({ model, maxLength, lora }: v.InferOutput<typeof optionsSchema>): void {
  const wrong = lora?.targetModules.find((name) => !Object.hasOwn(PROJECTIONS, name));
  if (wrong !== undefined) {
    const known = Object.keys(PROJECTIONS).join(", ");
    fail(`"lora.targetModules" must name some of ${known}, but has ${inspect(wrong)}.`);
  }
  // What a path leads to is on disk, and is looked at when the job starts.
  if (typeof model === "string" && isPath(model)) return;
  const source = resolveOrFail(model);
  if (source.kind !== "shape" || maxLength === undefined) return;
  const { context } = source.shape;
  if (maxLength > context) {
    fail(
      `"maxLength" must be at most the model's context of ${context} tokens, but is ${maxLength}.`,
    );
  }
}

function resolveOrFail(model: string | ModelShape): ModelSource {
  try {
    return resolveModel(model);
  } catch (error) {
    return fail(messageOf(error), error);
  }
}

function fail(problem: string, cause?: unknown): never {
  throw new KitError("INVALID_OPTION", `createTrainer: ${problem}`, { cause });
}
