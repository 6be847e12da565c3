import { InvalidArgumentError, Option } from "commander";
import { LAST_PORT } from "../../protocol/port.ts";

export function projectOption(): Option {
  return new Option("--project <dir>", "project folder").default(".", "the current folder");
}

export const parsePort = parser(
  `a whole number from 0 to ${LAST_PORT}`,
  (value) => Number.isInteger(value) && value <= LAST_PORT,
);

export const parseMaxTokens = parser(
  "a whole number of at least 1",
  (value) => Number.isSafeInteger(value) && value >= 1,
);

export const parseTemperature = parser("a number of at least 0", () => true);

export const parseTopP = parser(
  "a number above 0 and at most 1",
  (value) => value > 0 && value <= 1,
);

export const parseSeed = parser("a whole number of at least 0", Number.isSafeInteger);

/** Parses an option's value, which is never negative. */
function parser(expected: string, isRight: (value: number) => boolean) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d*\.?\d+$/.test(text) && isRight(value)) return value;
    throw new InvalidArgumentError(`It must be ${expected}.`);
  };
}
