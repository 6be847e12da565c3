import * as v from "valibot";
import type {
  LlamaOptions,
  PythonOptions,
  RayOptions,
  WebgpuOptions,
} from "../../protocol/engineOptions.ts";
import { KitError } from "../../protocol/error.ts";
import { type GgufType, GGUF_TYPES } from "../../protocol/exportFormat.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { hasCredentials, serverUrl } from "../../protocol/url.ts";
import { text, wholeNumber } from "../../protocol/valueSchemas.ts";
import { describeIssue } from "./describeIssue.ts";

/** A custom option: its description and its check. */
function option<T>(form: string, isValid: (value: unknown) => boolean) {
  return v.optional(v.custom<T>(isValid, form));
}

const flag = v.optional(v.boolean("true or false"));

/** Ray counts CPUs and GPUs in ten thousandths. */
const MIN_SHARE = 1e-4;
/** Limit of workers and of their resources; far more than any cluster has. */
const MAX_COUNT = 10_000;

const python = v.strictObject(
  {
    path: v.optional(text),
    env: option<Record<string, string>>(
      "an object of strings",
      (value) => isRecord(value) && Object.values(value).every(isText),
    ),
    bf16: flag,
    gradientCheckpointing: flag,
  } satisfies Record<keyof PythonOptions, v.GenericSchema>,
  "{ path, … }",
);

const ray = v.strictObject(
  {
    address: option<string>(
      "an http:// or https:// URL without a password or key; a token goes into RAY_AUTH_TOKEN",
      (value) => isPublic(value) && serverUrl(value) !== undefined,
    ),
    token: option<string>(
      "a non-empty string of printable ASCII characters",
      (value) => isText(value) && /^\s*[!-~]+\s*$/.test(value),
    ),
    workers: option<number>(
      `a whole number from 1 to ${MAX_COUNT}`,
      (value) => isWholeNumber(value, 1) && isShare(value),
    ),
    cpusPerWorker: option<number>(`0, or a number from ${MIN_SHARE} to ${MAX_COUNT}`, isShare),
    gpusPerWorker: option<number>(
      `0, a number from ${MIN_SHARE} to 1, or a whole number up to ${MAX_COUNT}`,
      (value) => isShare(value) && (value <= 1 || isWholeNumber(value, 0)),
    ),
    storage: option<string>(
      "an absolute path or a URL such as s3://bucket/runs, without a password or key, which belongs in the cluster's own environment",
      isStorage,
    ),
    pip: v.optional(v.array(v.string("a list of strings"), "a list of strings")),
    maxFailures: v.optional(wholeNumber(0)),
  } satisfies Record<keyof RayOptions, v.GenericSchema>,
  "{ address, … }",
);

const llama = v.strictObject(
  {
    type: option<GgufType>(`"${GGUF_TYPES.join('", "')}"`, (value) =>
      GGUF_TYPES.some((type) => type === value),
    ),
  } satisfies Record<keyof LlamaOptions, v.GenericSchema>,
  "{ type }",
);

const POWER_PREFERENCES = ["low-power", "high-performance"];

const webgpu = v.strictObject(
  {
    adapter: v.optional(text),
    powerPreference: option<WebgpuOptions["powerPreference"]>(
      `"${POWER_PREFERENCES.join('" or "')}"`,
      (value) => POWER_PREFERENCES.some((one) => one === value),
    ),
  } satisfies Record<keyof WebgpuOptions, v.GenericSchema>,
  "{ adapter, … }",
);

/** @throws KitError `OPTION_INVALID` */
export function checkWebgpuOptions(options: unknown): WebgpuOptions {
  return check("webgpu", webgpu, options);
}

/** @throws KitError `OPTION_INVALID` */
export function checkLlamaOptions(options: unknown): LlamaOptions {
  return check("llama", llama, options);
}

/** @throws KitError `OPTION_INVALID` */
export function checkPythonOptions(options: unknown): PythonOptions {
  return check("python", python, options);
}

/** @throws KitError `OPTION_INVALID` */
export function checkRayOptions(options: unknown): RayOptions {
  const checked: RayOptions = check("ray", ray, options);
  if (checked.cpusPerWorker === 0 && !checked.gpusPerWorker) {
    throw new KitError(
      "OPTION_INVALID",
      'ray: "cpusPerWorker" and "gpusPerWorker" are both 0, but a worker needs a CPU or a GPU. Raise one of them.',
    );
  }
  return checked;
}

function check<Entries extends v.ObjectEntries>(
  engine: string,
  schema: v.StrictObjectSchema<Entries, string>,
  options: unknown,
) {
  const result = v.safeParse(schema, options, { abortEarly: true });
  if (result.success) return result.output;
  const issue = result.issues[0];
  throw new KitError("OPTION_INVALID", describeIssue(engine, issue, { schema, hides: isSecret }));
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Never printed. */
function isSecret(name: string, value: unknown): boolean {
  return name === "token" || (isText(value) && hasCredentials(value));
}

/** Whether records and output may show it. */
function isPublic(value: unknown): value is string {
  return isText(value) && !hasCredentials(value);
}

function isStorage(value: unknown): boolean {
  return isPublic(value) && /^(?!https?:)(\/|\w+:\/\/)\P{Cc}*$/iu.test(value);
}

function isShare(value: unknown): value is number {
  return value === 0 || (typeof value === "number" && value >= MIN_SHARE && value <= MAX_COUNT);
}

function isWholeNumber(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min;
}
