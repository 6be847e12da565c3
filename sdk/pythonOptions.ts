import { inspect } from "node:util";
import { KitError } from "../protocol/error.ts";
import { isRecord } from "../protocol/isRecord.ts";
import type { PythonOptions } from "../protocol/pythonOptions.ts";

const EXPECTED: Record<keyof PythonOptions, [form: string, isValid: (value: unknown) => boolean]> =
  {
    path: ["a non-empty string", (value) => typeof value === "string" && value !== ""],
    env: ["an object of strings", (value) => isRecord(value) && Object.values(value).every(isText)],
    bf16: ["true or false", (value) => typeof value === "boolean"],
    gradientCheckpointing: ["true or false", (value) => typeof value === "boolean"],
  };

/** @throws KitError `OPTION_INVALID` */
export function checkPythonOptions(options: unknown): PythonOptions {
  if (!isRecord(options)) {
    throw new KitError("OPTION_INVALID", `python takes { path, … }, not ${inspect(options)}.`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(EXPECTED, name)) {
      throw new KitError(
        "OPTION_INVALID",
        `python: unknown option "${name}". It takes ${Object.keys(EXPECTED).join(", ")}.`,
      );
    }
    const [form, isValid] = EXPECTED[name as keyof PythonOptions];
    if (value !== undefined && !isValid(value)) {
      const found = inspect(value, { depth: 0 });
      throw new KitError("OPTION_INVALID", `python: "${name}" must be ${form}, but is ${found}.`);
    }
  }
  return options;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
