import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openModel } from "../../../../engines/checkpoint/savedModel.ts";
import { writeSafetensors } from "../../../../engines/modelFiles/safetensors.ts";
import { readAll } from "../../../../engines/modelFiles/tensors.ts";
import type { Weights } from "../../../../engines/modelFiles/weights.ts";
import { scratchDirectory } from "../scratch.ts";

/** A model of the output of `reference/families.py`. */
export interface Family {
  /** `config.json` as transformers 5 wrote it. */
  config: { vocab_size: number; model_type: string };
  tensors: Record<string, number[]>;
  /** Logits of the first row's tokens. */
  logits: number[][];
  /** Losses of 20 steps with an adapter on some projections, or all. */
  losses: Record<"some" | "all", number[]>;
}

export const FAMILIES = JSON.parse(
  readFileSync(new URL("./reference/families.json", import.meta.url), "utf8"),
) as Record<string, Family>;

/** Multiples of 1/64 that the name decides, as `families.py` makes them. */
export function numbers(name: string, count: number): Float32Array<ArrayBuffer> {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from(name)) state = Math.imul(state ^ byte, 0x01000193);
  return Float32Array.from({ length: count }, (_, i) => {
    let x = (state + Math.imul(i, 0x9e3779b9)) | 0;
    for (const factor of [0x85ebca6b, 0xc2b2ae35]) x = Math.imul(x ^ (x >>> 15), factor);
    return (((x ^ (x >>> 16)) >>> 0) % 127) / 64 - 63 / 64;
  });
}

/** Tokens that the name decides, likewise. */
export function tokensOf(name: string, count: number, vocabulary: number): number[] {
  return Array.from(numbers(name, count), (value) => ((value + 1) * 64) % vocabulary);
}

export function weightsOf(shapes: Record<string, number[]>): Weights {
  const scaled = (name: string, shape: number[]) => {
    const values = numbers(
      name,
      shape.reduce((a, b) => a * b),
    );
    if (name.includes("norm")) return values.map((value) => 1 + value / 4);
    if (name.includes("lora")) return values.map((value) => value / 8);
    return shape.length > 1 ? values.map((value) => value / 2) : values;
  };
  return Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, { shape, data: scaled(name, shape) }]),
  );
}

export function savedModel({ config, tensors }: Family) {
  const path = join(scratchDirectory(), "model");
  mkdirSync(path);
  writeFileSync(join(path, "config.json"), JSON.stringify(config));
  writeFileSync(
    join(path, "model.safetensors"),
    Buffer.concat(writeSafetensors(weightsOf(tensors))),
  );
  const { shape, weights } = openModel(path);
  return { shape, weights: readAll(weights) };
}
