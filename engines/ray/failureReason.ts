import { constants } from "node:os";
import { stripVTControlCharacters } from "node:util";
import { parseLine } from "./messages.ts";

const EXITED = /\bfailed with exit code (-?\d+)/;
/** How pip begins the line that says why. */
const PIP = /^ERROR: /;
/** Ends a Python traceback. */
const PYTHON = /^[\w.]*(?:Error|Exception): ./;

/** Why a job ended, out of Ray's message, whose first line is often only a title: a clause. */
export function failureReason(message: string): string {
  const lines = stripVTControlCharacters(message)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !parseLine(line));
  const [first = ""] = lines;
  const code = Number(EXITED.exec(first)?.[1] ?? NaN);
  if (code < 0) return `its driver was ended by ${signalOf(-code)}`;
  const why = lines.find((line) => PIP.test(line)) ?? lines.findLast((line) => PYTHON.test(line));
  if (Number.isNaN(code)) return withoutEnd(why ?? first);
  return `its driver exited with code ${code}${withoutEnd(why ?? lines.slice(1).at(-1) ?? "", ": ")}`;
}

function signalOf(number: number): string {
  const [name = `signal ${number}`] =
    Object.entries(constants.signals).find(([, known]) => known === number) ?? [];
  return name === "SIGKILL" ? `${name}, as happens when its node runs out of memory` : name;
}

function withoutEnd(text: string, before = ""): string {
  const clause = text.replace(/[.:]+$/, "");
  return clause && before + clause;
}
