import { readFileSync } from "node:fs";
import { EngineError } from "../error.ts";
import { readSafetensors } from "./safetensors.ts";
import type { Weights } from "../llama/weights.ts";

/**
 * Reads tensors by their names and dimensions; the file may have others too.
 * @throws EngineError `CHECKPOINT_INVALID` when one is missing or has another shape
 */
export function readWeights(file: string, expected: Record<string, number[]>): Weights {
  const weights = readSafetensors(read(file), file);
  for (const [name, shape] of Object.entries(expected)) {
    const found = weights[name]?.shape.join(" × ") ?? "missing";
    if (found !== shape.join(" × ")) {
      throw new EngineError(
        "CHECKPOINT_INVALID",
        `${file}: ${name} is ${found}, not ${shape.join(" × ")}: use a checkpoint that Kit saved.`,
      );
    }
  }
  return Object.fromEntries(Object.keys(expected).map((name) => [name, weights[name]])) as Weights;
}

/**
 * Reads a JSON file; an optional one that is not there is null.
 * @throws EngineError `CHECKPOINT_INVALID` when it is missing or damaged
 */
export function readJson(file: string): Record<string, unknown>;
export function readJson(file: string, optional: "optional"): Record<string, unknown> | null;
export function readJson(file: string, optional?: "optional"): Record<string, unknown> | null {
  const text = optional ? readIfThere(file) : read(file);
  if (text === null) return null;
  try {
    return JSON.parse(text.toString("utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `${file} is not valid JSON: use a checkpoint that Kit saved.`,
      { cause },
    );
  }
}

function read(file: string): Buffer {
  const content = readIfThere(file);
  if (content) return content;
  throw new EngineError(
    "CHECKPOINT_INVALID",
    `There is no ${file}: use the directory of a checkpoint that Kit saved.`,
  );
}

function readIfThere(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new EngineError(
      "CHECKPOINT_INVALID",
      `Cannot read ${file}: ${message}. Make it readable.`,
      { cause },
    );
  }
}
