import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { OWNER_ONLY, makeDirectory, refuseLink } from "../disk/file.ts";
import { unwritable } from "../protocol/error.ts";
import type { InferRequest, InferResult } from "../protocol/infer.ts";
import { parseRecord } from "../protocol/isRecord.ts";
import { stringifyJson } from "../protocol/json.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";

/** Bytes of the answers that are kept, of all models, at most. */
const MAX_BYTES = 2 ** 26;

type Answer = Pick<InferResult, "text" | "tokens" | "finishReason">;

/** A model's answers of earlier runs, so that only what is new is asked. */
export interface AnswerCache {
  /** The text of an answer. One that came to its end within fewer tokens is that of a higher limit, too. */
  get: (request: InferRequest) => string | undefined;
  set: (request: InferRequest, answer: Answer) => void;
}

/** A line of the file. */
interface CachedAnswer extends Pick<Answer, "text" | "tokens"> {
  key: string;
  isCut: boolean;
}

/**
 * Opens the answers of a model, a line each, which others may add to meanwhile.
 * @param identity changes with the model
 * @param onNote takes one note if answers cannot be kept
 * @throws KitError `LINK_IN_KIT`
 */
export function openAnswerCache(
  project: string,
  identity: string,
  onNote: (text: string) => void,
): AnswerCache {
  const path = join(project, ".kit", "answers", `${digest(identity)}.ndjson`);
  for (const made of [dirname(path), path]) refuseLink(made);
  evictOldest(dirname(path));
  const answers = new Map(linesOf(path).flatMap(answerIn));
  let isNoted = false;
  return {
    get(request) {
      const { maxTokens = Infinity } = request;
      const { text, tokens = Infinity, isCut } = answers.get(keyOf(request)) ?? {};
      return tokens === maxTokens || (!isCut && tokens < maxTokens) ? text : undefined;
    },
    set(request, { text, tokens, finishReason }) {
      const cached = { key: keyOf(request), text, tokens, isCut: finishReason === "length" };
      answers.set(cached.key, cached);
      try {
        makeDirectory(dirname(path));
        // In one write, after a line that a killed process left unfinished.
        appendFileSync(path, `\n${JSON.stringify(cached)}`, { mode: OWNER_ONLY });
      } catch (error) {
        if (!isNoted) onNote(unwritable(`keep answers in ${path}`, error));
        isNoted = true;
      }
    },
  };
}

/** Removes what was asked longest ago, beyond the limit: it is asked again. */
function evictOldest(directory: string): void {
  try {
    const files = readdirSync(directory).map((name) => {
      const path = join(directory, name);
      const { size, mtimeMs } = statSync(path);
      return { path, size, mtimeMs };
    });
    let bytes = 0;
    for (const { path, size } of files.toSorted((a, b) => b.mtimeMs - a.mtimeMs)) {
      bytes += size;
      if (bytes > MAX_BYTES) rmSync(path);
    }
  } catch {
    // Nothing was asked yet, another process is at it, or it is another user's.
  }
}

/** What only a resume reads, of any engine: it is removed once a job is completed. */
const RESUME_ONLY = /^(optimizer|scheduler|rng_state)/;

/**
 * A checkpoint's folder and files, which on other machines nobody sees. A checkpoint never changes; another in
 * its place has other times.
 */
export function identityOf(directory: string): string {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const files = names
    .filter((name) => !RESUME_ONLY.test(name))
    .toSorted()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(directory, name));
      return [name, size, mtimeMs];
    });
  return JSON.stringify([directory, files]);
}

/** The model that a training starts from, in this folder. Random weights are the same for the same seed. */
export function identityOfStart({ model, seed, lora }: JobConfig, directory: string): string {
  const isSaved = typeof model === "string" && !model.startsWith("kit/");
  return JSON.stringify([isSaved ? identityOf(directory) : [model, seed], lora?.baseType]);
}

/** All that decides an answer but its limit. */
function keyOf({ signal: _, maxTokens: __, ...request }: InferRequest): string {
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

function answerIn(line: string): [string, CachedAnswer][] {
  const { key, text, tokens, ...cached } = parseRecord(line);
  const isWhole = typeof key === "string" && typeof text === "string" && tokens !== undefined;
  return isWhole ? [[key, { ...cached, key, text, tokens } as CachedAnswer]] : [];
}
