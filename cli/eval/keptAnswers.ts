import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory, refuseLink } from "../../disk/file.ts";
import { OWNER_ONLY } from "../../disk/modes.ts";
import { unwritable } from "../../protocol/cannotWrite.ts";
import type { InferRequest } from "../../protocol/infer.ts";
import { stringifyJson } from "../../protocol/json.ts";

/** Bytes of the answers that are kept, of all models, at most. */
const MOST_BYTES = 2 ** 26;

/** A model's answers of earlier runs, so that only what is new is asked. */
export interface KeptAnswers {
  find: (request: InferRequest) => string | undefined;
  keep: (request: InferRequest, answer: string) => void;
}

/**
 * Opens the answers of a model, a line each, which others may add to meanwhile.
 * @param identity changes with the model
 * @param onNote takes one note if answers cannot be kept
 * @throws KitError `LINK_IN_KIT`
 */
export function openAnswers(
  project: string,
  identity: string,
  onNote: (text: string) => void,
): KeptAnswers {
  const path = join(project, ".kit", "answers", `${digest(identity)}.ndjson`);
  for (const made of [dirname(path), path]) refuseLink(made);
  forgetOldest(dirname(path));
  const answers = new Map(linesOf(path).flatMap(answerIn));
  let isTold = false;
  return {
    find: (request) => answers.get(keyOf(request)),
    keep(request, answer) {
      const key = keyOf(request);
      answers.set(key, answer);
      try {
        makeDirectory(dirname(path));
        // In one write, after a line that a killed process left unfinished.
        appendFileSync(path, `\n${JSON.stringify({ key, answer })}`, { mode: OWNER_ONLY });
      } catch (error) {
        if (!isTold) onNote(`warning: ${unwritable(`keep answers in ${path}`, error)}`);
        isTold = true;
      }
    },
  };
}

/** Removes what was asked longest ago, beyond the limit: it is asked again. */
function forgetOldest(directory: string): void {
  try {
    const files = readdirSync(directory).map((name) => {
      const path = join(directory, name);
      const { size, mtimeMs } = statSync(path);
      return { path, size, mtimeMs };
    });
    let bytes = 0;
    for (const { path, size } of files.toSorted((a, b) => b.mtimeMs - a.mtimeMs)) {
      bytes += size;
      if (bytes > MOST_BYTES) rmSync(path);
    }
  } catch {
    // Nothing was asked yet, another process is at it, or it is another user's.
  }
}

/** A checkpoint's folder and files. A checkpoint never changes; another in its place has other times. */
export function identityOf(directory: string): string {
  const files = readdirSync(directory)
    .toSorted()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(directory, name));
      return [name, size, mtimeMs];
    });
  return JSON.stringify([directory, files]);
}

/** All that decides an answer. */
function keyOf({ signal: _, ...request }: InferRequest): string {
  return digest(stringifyJson(request) ?? "");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    // Nothing was asked yet, or it is another user's: all is asked again.
    return [];
  }
}

function answerIn(line: string): [string, string][] {
  try {
    const { key, answer } = JSON.parse(line) as Record<string, unknown>;
    return typeof key === "string" && typeof answer === "string" ? [[key, answer]] : [];
  } catch {
    return [];
  }
}
