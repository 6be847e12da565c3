import type * as typed from "@commander-js/extra-typings";
import * as commander from "commander";
import { LAST_PORT } from "../protocol/address.ts";
import type { TemplateKwargs } from "../protocol/chat.ts";
import { problemOfKwargs } from "../protocol/chatFaults.ts";
import { TRAINING_ENGINES } from "../protocol/engineOptions.ts";
import { KitError, messageOf } from "../protocol/error.ts";
import { GGUF_TYPES, QUANTIZED_TYPES } from "../protocol/exportFormat.ts";
import { SAMPLING } from "../protocol/infer.ts";
import { parseJson } from "../protocol/json.ts";

/**
 * A `commander` command whose action gets options typed by their definitions.
 * @param exampleLines example command lines for its help, each with its effect
 */
export function createCommand(name: string, exampleLines?: Record<string, string>): typed.Command {
  const command = new commander.Command(name);
  if (exampleLines) command.addHelpText("after", examples(exampleLines));
  return command as unknown as typed.Command;
}

export const Option: typeof typed.Option = commander.Option;

export function projectOption() {
  return new Option("--project <dir>", "project folder").default(".", "the current folder");
}

export function quantizeOption() {
  const effect = "quantize weights to 8 or 4 bits: faster, less memory";
  const option = new Option("--quantize <type>", `${effect} (default: as the model was trained)`);
  return typeChoices(option.choices(QUANTIZED_TYPES));
}

export function ggufTypeOption() {
  const option = new Option("--type <type>", "type of a gguf file (default: the model's own)");
  return typeChoices(option.choices(GGUF_TYPES));
}

/** @throws KitError `USAGE_INVALID` for a GGUF option with another format */
export function assertGguf(format: string | undefined, ggufOptions: Record<string, unknown>): void {
  const [name] = Object.entries(ggufOptions).find(([, value]) => value !== undefined) ?? [];
  if (format === "gguf" || name === undefined) return;
  throw new KitError("USAGE_INVALID", `--${name} is for GGUF files. Add --format gguf.`);
}

/** Accepts an option's choices in upper case too, as Ollama and llama.cpp write types. */
function typeChoices<T extends commander.Option>(option: T): T {
  const parse = option.parseArg?.bind(option);
  if (parse) option.parseArg = (text, before) => parse(text.toLowerCase(), before);
  return option;
}

/** The examples below a command's help. */
export function examples(lines: Record<string, string>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length));
  const table = Object.entries(lines).map(([line, effect]) => `  ${line.padEnd(width)}  ${effect}`);
  return ["", "Examples:", ...table].join("\n");
}

export const parsePort = parser({
  expected: `a whole number from 0 to ${LAST_PORT}`,
  accepts: (value) => Number.isInteger(value) && value <= LAST_PORT,
});

export const parseMaxTokens = parser(SAMPLING.maxTokens);
export const parseTemperature = parser(SAMPLING.temperature);
export const parseTopP = parser(SAMPLING.topP);
export const parseSeed = parser(SAMPLING.seed);

export const parseCount = parser({
  expected: "a whole number above 0",
  accepts: (value) => Number.isSafeInteger(value) && value > 0,
});

export const parseNonNegative = parser({
  expected: "a whole number of at least 0",
  accepts: (value) => Number.isSafeInteger(value),
});

/** Variables of a chat template as JSON. */
export function parseKwargs(text: string): TemplateKwargs {
  let kwargs: unknown;
  try {
    kwargs = parseJson(text);
  } catch (error) {
    throw new commander.InvalidArgumentError(`It is not valid JSON: ${messageOf(error)}`);
  }
  const problem = problemOfKwargs(kwargs ?? []);
  if (problem !== undefined) throw new commander.InvalidArgumentError(`It ${problem}.`);
  return kwargs as TemplateKwargs;
}

/** Adds a value of a repeatable option to the values given before. */
export function parseList(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** A path that isn't empty: an empty one would be the current folder. */
export function parseFolder(path: string): string {
  if (path !== "") return path;
  throw new commander.InvalidArgumentError("It must be a folder.");
}

/** Adds another name of a model, `name=model`, to the names given before. */
export function parseAlias(text: string, before = new Map<string, string>()): Map<string, string> {
  const [, name, model] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name === undefined || model === undefined) {
    throw new commander.InvalidArgumentError("It must be name=model.");
  }
  return new Map(before).set(name, model);
}

/** The engine that answers instead of the one that trained. */
export function parseAnswering(name: string): "llama" {
  if (name === "llama") return name;
  throw new commander.InvalidArgumentError(
    TRAINING_ENGINES.some((engine) => engine === name)
      ? `kit serve doesn't run ${name}(). Leave out --engine: the engine that trained the model answers, or the embedded one if that only trains.`
      : "It must be llama.",
  );
}

/** A finite number such as `-0.5`, `.5` or `1e-3`; NaN for any other text. */
export function parseDecimal(text: string): number {
  const value = /^-?\d*\.?\d+(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : NaN;
}

/** Parses a number that is never negative. */
function parser({ expected, accepts }: { expected: string; accepts: (value: number) => boolean }) {
  return (text: string): number => {
    const value = parseDecimal(text);
    if (!text.startsWith("-") && accepts(value)) return value;
    throw new commander.InvalidArgumentError(`It must be ${expected}.`);
  };
}
