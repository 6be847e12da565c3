import { InvalidArgumentError, Option } from "commander";
import { LAST_PORT } from "../../protocol/port.ts";
import { SAMPLING } from "../../protocol/sampling.ts";

export function projectOption(): Option {
  return new Option("--project <dir>", "project folder").default(".", "the current folder");
}

export const parsePort = parser({
  expected: `a whole number from 0 to ${LAST_PORT}`,
  holds: (value) => Number.isInteger(value) && value <= LAST_PORT,
});

export const parseMaxTokens = parser(SAMPLING.maxTokens);
export const parseTemperature = parser(SAMPLING.temperature);
export const parseTopP = parser(SAMPLING.topP);
export const parseSeed = parser(SAMPLING.seed);

/** Parses an option's value, which is never negative. */
function parser({ expected, holds }: { expected: string; holds: (value: number) => boolean }) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d*\.?\d+$/.test(text) && holds(value)) return value;
    throw new InvalidArgumentError(`It must be ${expected}.`);
  };
}
