import { basename, dirname } from "node:path";
import { isJobDirectory, readJobConfig } from "../../jobs/jobFile.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { learnedTokens } from "../../sdk/engine.ts";
import { findArtifact } from "../../sdk/job/findArtifact.ts";

/** A model that has not learned to stop rambles on to the end of its context, for minutes. */
const MAX_TOKENS = 512;

/** How long an answer may be by default. */
export interface AnswerLimit {
  /** A count. */
  tokens: number;
  /** What it comes from, in words. */
  reason?: string;
}

/** What a job's answers need, by its folder or a checkpoint's in it, else the same for every model. */
export async function answerLimit(directory: string): Promise<AnswerLimit> {
  const job = [directory, dirname(dirname(directory))].find(isJobDirectory);
  const config = readJobConfig(job ?? "");
  if (!job || !config) return { tokens: MAX_TOKENS };
  try {
    const asJob = config as unknown as JobConfig;
    const tokens = await learnedTokens(asJob, job, findArtifact(directory));
    if (tokens === undefined) return { tokens: MAX_TOKENS };
    return { tokens, reason: `a quarter more than the longest that job ${basename(job)} learned` };
  } catch {
    // Its rows are not here any more, or never were.
    return { tokens: MAX_TOKENS };
  }
}
