import { defaultsOf } from "../../../protocol/trainerOptions.ts";
import { ApiError, invalid } from "../apiError.ts";
import { type Body, type NumberRange, fieldOf, numberOf } from "../fields.ts";
import { metadataOf } from "../metadata.ts";
import type { FileStore } from "./fileStore.ts";
import { type Method, methodOf, trainingOptions } from "./hyperparameters.ts";
import { refuseFields } from "./refuseFields.ts";
import { PURPOSE } from "./upload.ts";

/** A request for a fine-tuning job, by OpenAI's names; also as a job's `trainer.json` has it. */
export interface JobRequest {
  model: string;
  training_file: string;
  validation_file?: string | undefined;
  suffix?: string | undefined;
  seed: number;
  metadata?: Record<string, string> | undefined;
  method: Method;
}

const FIELDS = ["model", "training_file", "validation_file", "suffix", "seed", "metadata"];
const KNOWN_FIELDS = [...FIELDS, "method", "hyperparameters"];
const ADVICE = {
  integrations:
    "Leave it out: the job's events and its result file have the metrics, as kit ui does.",
};
const SEED: NumberRange = {
  expected: "a whole number from 0 to 2147483647",
  accepts: (value) => Number.isInteger(value) && value >= 0 && value <= 2_147_483_647,
};
const SUFFIX = /^[\w.-]{1,64}$/;
/** The defaults' share (20 of 400 steps), so that short runs warm up, too. */
const WARMUP_SHARE = 0.05;

/** @throws ApiError 400 naming the invalid field */
export function jobRequest(body: Body, files: FileStore): JobRequest {
  refuseFields(body, KNOWN_FIELDS, "", ADVICE);
  const model = fieldOf(body, "model");
  if (typeof model !== "string" || model === "") throw invalid("model", "model must be a string.");
  const training_file = fileOf(body, "training_file", files);
  if (training_file === undefined) {
    throw invalid("training_file", "training_file must be the id of an uploaded file.");
  }
  return {
    model,
    training_file,
    validation_file: fileOf(body, "validation_file", files),
    suffix: suffixOf(body),
    seed: numberOf(body, "seed", SEED) ?? defaultsOf("lora").seed,
    metadata: metadataOf(body),
    method: methodOf(body),
  };
}

function fileOf(body: Body, name: string, files: FileStore): string | undefined {
  const id = fieldOf(body, name);
  if (id === undefined || (typeof id === "string" && files.get(id)?.purpose === PURPOSE)) return id;
  const message = `${name} must be the id of a file that GET /v1/files?purpose=${PURPOSE} lists.`;
  throw new ApiError(400, message, { param: name, code: "file_not_found" });
}

function suffixOf(body: Body): string | undefined {
  const suffix = fieldOf(body, "suffix");
  if (suffix === undefined || (typeof suffix === "string" && SUFFIX.test(suffix))) return suffix;
  throw invalid(
    "suffix",
    'suffix must be up to 64 letters, digits, ".", "_" or "-", because it becomes part of the model\'s name.',
  );
}

/**
 * A request as options of `createTrainer`.
 * @param base the served model, as the option `model` names it
 */
export function trainerOf(
  { suffix, training_file, validation_file, seed, method }: JobRequest,
  base: string,
  dataset: (file: string) => { type: "jsonl"; path: string },
): { name: string } & Record<string, unknown> {
  return {
    name: suffix ?? "fine-tuning",
    model: base,
    lora: {},
    dataset: dataset(training_file),
    evalDataset: validation_file === undefined ? undefined : dataset(validation_file),
    // Every step, as OpenAI does.
    loggingSteps: 1,
    warmupSteps: WARMUP_SHARE,
    seed,
    ...trainingOptions(method),
  };
}
