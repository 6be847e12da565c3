import type { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { type JsonProblem, positionIn, problemOfJson } from "../../protocol/jsonProblem.ts";
import { invalid } from "./tables/tableRow.ts";

const PRETTY_PRINTED =
  'the object continues on the next line. Write each object on one line, as "jq -c ." does.';

/**
 * The error for a line that isn't JSON, with the location of the first wrong character.
 * @param cause thrown by the parser
 * @param where file and line
 * @param expected what to write, in case the line doesn't even start as JSON
 */
export function jsonLineError(
  cause: unknown,
  text: string,
  where: string,
  expected: string,
): KitError {
  const { offset, problem } = problemOf(cause, text, expected);
  const location = `${where}:${positionIn(text, offset).column}`;
  // Nothing is missing: the object continues on the next line.
  const isPrettyPrinted = offset === text.length && /[{[,:]$/.test(text);
  return invalid(location, `not valid JSON: ${isPrettyPrinted ? PRETTY_PRINTED : problem}`, cause);
}

/** Like `jsonLineError`, for a whole file. */
export function jsonFileError(
  cause: unknown,
  text: string,
  path: string,
  expected: string,
): KitError {
  const { offset, problem } = problemOf(cause, text, expected);
  const { line, column } = positionIn(text, offset);
  return invalid(`${path}:${line}:${column}`, `not valid JSON: ${problem}`, cause);
}

/**
 * Like `jsonLineError`, for JSON text within a row.
 * @returns the end of a sentence about the text, and what to do
 */
function jsonTextProblem(cause: unknown, text: string, expected: string): string {
  const { offset, problem } = problemOf(cause, text, expected);
  const { line, column } = positionIn(text, offset);
  const location = line === 1 ? `character ${column}` : `line ${line}, character ${column}`;
  return `not valid JSON at ${location}: ${problem}`;
}

function problemOf(cause: unknown, text: string, expected: string): JsonProblem {
  if (!(cause instanceof SyntaxError)) {
    // The parser overflowed the stack.
    return { offset: text.length, problem: "it is nested too deeply. Make it flatter." };
  }
  const { offset, problem } = problemOfJson(text);
  const failsAtStart = text.slice(0, offset).trim() === "";
  return { offset, problem: failsAtStart ? `${problem} Write ${expected}.` : problem };
}

/**
 * Parses a table's text cell that holds a list or an object.
 * @throws KitError `DATASET_INVALID`
 */
export function parseJsonCell(
  value: unknown,
  where: string,
  column: string,
  expected: string,
): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch (cause) {
    const problem = jsonTextProblem(cause, value, `${expected} as JSON`);
    throw invalid(where, `column ${JSON.stringify(column)} is ${problem}`, cause);
  }
}
