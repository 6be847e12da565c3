import { inspect } from "node:util";
import { KitError } from "../../protocol/error.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import type { PythonOptions } from "../../protocol/pythonOptions.ts";
import type { RayOptions } from "../../protocol/rayOptions.ts";
import { hasCredentials, serverUrl } from "../../protocol/url.ts";
import { didYouMean } from "./didYouMean.ts";

/** What is expected of an option, in words and as a check. */
type Expected = readonly [form: string, isValid: (value: unknown) => boolean];

const TEXT: Expected = ["a non-empty string", (value) => isText(value) && value !== ""];
const FLAG: Expected = ["true or false", (value) => typeof value === "boolean"];

/** Ray counts CPUs and GPUs in ten thousandths. */
const LEAST_SHARE = 1e-4;
/** Of workers, and of what each takes; far more than any cluster has. */
const MOST = 10_000;

const PYTHON: Record<keyof PythonOptions, Expected> = {
  path: TEXT,
  env: ["an object of strings", (value) => isRecord(value) && Object.values(value).every(isText)],
  bf16: FLAG,
  gradientCheckpointing: FLAG,
};

const RAY: Record<keyof RayOptions, Expected> = {
  address: [
    "an http:// or https:// URL without a password or key; a token goes into RAY_AUTH_TOKEN",
    (value) => isPublic(value) && serverUrl(value) !== undefined,
  ],
  token: [
    "a non-empty string of printable ASCII characters",
    (value) => isText(value) && /^\s*[!-~]+\s*$/.test(value),
  ],
  workers: [
    `a whole number from 1 to ${MOST}`,
    (value) => isWholeNumber(value, 1) && isShare(value),
  ],
  cpusPerWorker: [`0, or a number from ${LEAST_SHARE} to ${MOST}`, isShare],
  gpusPerWorker: [
    `0, a number from ${LEAST_SHARE} to 1, or a whole number up to ${MOST}`,
    (value) => isShare(value) && (value <= 1 || isWholeNumber(value, 0)),
  ],
  storage: [
    "an absolute path or a URL such as s3://bucket/runs, without a password or key, which belongs in the cluster's own environment",
    isStorage,
  ],
  pip: ["a list of strings", (value) => Array.isArray(value) && value.every(isText)],
  maxFailures: ["a whole number of at least 0", (value) => isWholeNumber(value, 0)],
};

/** @throws KitError `OPTION_INVALID` */
export function checkPythonOptions(options: unknown): PythonOptions {
  return check("python", "path", PYTHON, options);
}

/** @throws KitError `OPTION_INVALID` */
export function checkRayOptions(options: unknown): RayOptions {
  const checked: RayOptions = check("ray", "address", RAY, options);
  if (checked.cpusPerWorker === 0 && !checked.gpusPerWorker) {
    throw new KitError(
      "OPTION_INVALID",
      'ray: "cpusPerWorker" and "gpusPerWorker" are both 0, but a worker has to take something. Set one of them higher.',
    );
  }
  return checked;
}

function check(
  engine: string,
  first: string,
  expected: Record<string, Expected>,
  options: unknown,
): Record<string, unknown> {
  if (!isRecord(options)) {
    throw new KitError(
      "OPTION_INVALID",
      `${engine} takes { ${first}, … }, not ${inspect(options)}.`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    const found = Object.hasOwn(expected, name) ? expected[name] : undefined;
    if (!found) {
      const known = Object.keys(expected);
      throw new KitError(
        "OPTION_INVALID",
        `${engine}: unknown option "${name}".${didYouMean(name, known)} It takes ${known.join(", ")}.`,
      );
    }
    const [form, isValid] = found;
    if (value !== undefined && !isValid(value)) {
      const told = isSecret(name, value) ? form : `${form}, but is ${inspect(value, { depth: 0 })}`;
      throw new KitError("OPTION_INVALID", `${engine}: "${name}" must be ${told}.`);
    }
  }
  return options;
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
  return value === 0 || (typeof value === "number" && value >= LEAST_SHARE && value <= MOST);
}

function isWholeNumber(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least;
}
