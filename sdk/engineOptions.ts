import { inspect } from "node:util";
import { KitError } from "../protocol/error.ts";
import { isRecord } from "../protocol/isRecord.ts";
import type { PythonOptions } from "../protocol/pythonOptions.ts";
import type { RayOptions } from "../protocol/rayOptions.ts";

/** What is expected of an option, in words and as a check. */
type Expected = readonly [form: string, isValid: (value: unknown) => boolean];

const TEXT: Expected = ["a non-empty string", (value) => isText(value) && value !== ""];
const FLAG: Expected = ["true or false", (value) => typeof value === "boolean"];
const COUNT: Expected = ["a whole number of at least 1", (value) => isWhole(value, 1)];
const SHARE: Expected = ["a number of at least 0", (value) => isAmount(value)];

const PYTHON: Record<keyof PythonOptions, Expected> = {
  path: TEXT,
  env: ["an object of strings", (value) => isRecord(value) && Object.values(value).every(isText)],
  bf16: FLAG,
  gradientCheckpointing: FLAG,
};

const RAY: Record<keyof RayOptions, Expected> = {
  address: ["an http:// or https:// URL without a password", isAddress],
  token: TEXT,
  workers: COUNT,
  cpusPerWorker: SHARE,
  gpusPerWorker: SHARE,
  storage: ["an absolute path or a URL", (value) => isText(value) && /^(\/|\w+:\/\/)/.test(value)],
  pip: ["a list of strings", (value) => Array.isArray(value) && value.every(isText)],
  maxFailures: ["a whole number of at least 0", (value) => isWhole(value, 0)],
};

/** @throws KitError `OPTION_INVALID` */
export function checkPythonOptions(options: unknown): PythonOptions {
  return check("python", "path", PYTHON, options);
}

/** @throws KitError `OPTION_INVALID` */
export function checkRayOptions(options: unknown): RayOptions {
  return check("ray", "address", RAY, options);
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
      throw new KitError(
        "OPTION_INVALID",
        `${engine}: unknown option "${name}". It takes ${Object.keys(expected).join(", ")}.`,
      );
    }
    const [form, isValid] = found;
    if (value !== undefined && !isValid(value)) {
      // A token is never printed.
      const told = name === "token" ? form : `${form}, but is ${inspect(value, { depth: 0 })}`;
      throw new KitError("OPTION_INVALID", `${engine}: "${name}" must be ${told}.`);
    }
  }
  return options;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isWhole(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least;
}

function isAddress(value: unknown): boolean {
  if (!isText(value) || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "";
}
