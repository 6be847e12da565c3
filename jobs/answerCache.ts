import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { OWNER_ONLY, makeDirectory, refuseLink } from "../disk/file.ts";
import { remove } from "../disk/move.ts";
import { unwritableMessage } from "../protocol/error.ts";
import type { InferRequest, InferResult } from "../protocol/infer.ts";
import { parseRecord } from "../protocol/isRecord.ts";
import { stringifyJson } from "../protocol/json.ts";
import type { JobConfig } from "../protocol/trainConfig.ts";

/** Size limit of the cache, for all models. */
const MAX_BYTES = 2 ** 26;

type Answer = Pick<InferResult, "text" | "tokens" | "finishReason">;

export interface AnswerCache {
  /** An answer's text. A complete answer also counts for a higher token limit. */
  get: (request: InferRequest) => string | undefined;
  set: (request: InferRequest, answer: Answer) => void;
}

/** A line of the file. */
interface CachedAnswer extends Pick<Answer, "text" | "tokens"> {
  key: string;
  /** Whether the token limit truncated it. */
  isCut: boolean;
}

/**
 * Opens a model's cached answers, one per line. Other processes may append meanwhile.
 * @param identity changes with the model
 * @param onNote called once if answers can't be saved
 * @throws KitError `LINK_IN_KIT`
 */
export function openAnswerCache(
  project: string,
  identity: string,
  onNote: (text: string) => void,
): AnswerCache {
  const path = join(project, ".kit", "answers", `${digest(identity)}.ndjson`);
  for (const each of [dirname(path), path]) refuseLink(each);
  evictOldest(dirname(path));
  const answers = new Map(linesOf(path).flatMap(answerIn));
  let hasNoted = false;
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
        // One write, on a new line in case a killed process left one unfinished.
        appendFileSync(path, `\n${JSON.stringify(cached)}`, { mode: OWNER_ONLY });
      } catch (error) {
        if (!hasNoted) onNote(unwritableMessage(`keep answers in ${path}`, error));
        hasNoted = true;
      }
    },
  };
}

/** Evicts the oldest files beyond the limit. */
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
      if (bytes > MAX_BYTES) remove(path);
    }
  } catch {
    // No cache yet, a concurrent eviction, or another user's files.
  }
}

/** Files that only resuming reads, which are removed once a job completes. */
const RESUME_ONLY = /^(optimizer|scheduler|rng_state)/;

/**
 * A checkpoint's identity: its folder, and its files' sizes and times. Checkpoints never change; a
 * replacement has other times.
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

/** An initial model's identity. The same seed gives the same random weights. */
export function identityOfInitialModel(
  { model, seed, lora }: JobConfig,
  directory: string,
): string {
  const isSaved = typeof model === "string" && !model.startsWith("kit/");
  return JSON.stringify([isSaved ? identityOf(directory) : [model, seed], lora?.baseType]);
}

/** A key of everything that determines an answer, except the token limit. */
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
    // No cache yet, or another user's.
    return [];
  }
}

function answerIn(line: string): [string, CachedAnswer][] {
  const { key, text, tokens, ...cached } = parseRecord(line);
  const isValid = typeof key === "string" && typeof text === "string" && tokens !== undefined;
  return isValid ? [[key, { ...cached, key, text, tokens } as CachedAnswer]] : [];
}
