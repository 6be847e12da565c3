import type { KitError } from "../../protocol/error.ts";
import { parseJson } from "../../protocol/json.ts";
import { type JsonProblem, positionIn, problemOfJson } from "../../protocol/jsonProblem.ts";
import { invalid } from "./tables/tableRow.ts";

const GOES_ON =
  "the object goes on in the next line. Write each on a line of its own, as jq -c . does.";

/**
 * The error of a line that is not JSON, with the place of the first wrong character.
 * @param cause what parsing it has thrown
 * @param where its file and line
 * @param expected what to write, where nothing of it is JSON
 */
export function lineNotJson(
  cause: unknown,
  text: string,
  where: string,
  expected: string,
): KitError {
  const { offset, problem } = problemOf(cause, text, expected);
  const place = `${where}:${positionIn(text, offset).column}`;
  // Its end is not missing, but pretty-printed.
  const goesOn = offset === text.length && /[{[,:]$/.test(text);
  return invalid(place, `not valid JSON: ${goesOn ? GOES_ON : problem}`, cause);
}

/** The error of a file that is not JSON, as `lineNotJson`. */
export function fileNotJson(
  cause: unknown,
  text: string,
  path: string,
  expected: string,
): KitError {
  const { offset, problem } = problemOf(cause, text, expected);
  const { line, column } = positionIn(text, offset);
  return invalid(`${path}:${line}:${column}`, `not valid JSON: ${problem}`, cause);
}

/** What is wrong with a text in a row that is not JSON, as `lineNotJson`: the end of a sentence, and what to do. */
function textNotJson(cause: unknown, text: string, expected: string): string {
  const { offset, problem } = problemOf(cause, text, expected);
  const { line, column } = positionIn(text, offset);
  const place = line === 1 ? `character ${column}` : `line ${line}, character ${column}`;
  return `not valid JSON at ${place}: ${problem}`;
}

function problemOf(cause: unknown, text: string, expected: string): JsonProblem {
  if (!(cause instanceof SyntaxError)) {
    // The stack has ended.
    return { offset: text.length, problem: "it is nested too deeply. Make it flatter." };
  }
  const { offset, problem } = problemOfJson(text);
  const begins = text.slice(0, offset).trim() === "";
  return { offset, problem: begins ? `${problem} Write ${expected}.` : problem };
}

/**
 * A list in a table that has only text is JSON.
 * @throws KitError `DATASET_INVALID`
 */
export function fromJson(value: unknown, where: string, column: string, expected: string): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch (cause) {
    const problem = textNotJson(cause, value, `${expected} as JSON`);
    throw invalid(where, `column ${JSON.stringify(column)} is ${problem}`, cause);
  }
}
