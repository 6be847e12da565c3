import { basename, dirname } from "node:path";
import { learnedTokens } from "../../sdk/engine.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { type ModelProject, type ModelReference, jobAt } from "../../sdk/models/reference.ts";

/** A model that has not learned to stop rambles on to the end of its context, for minutes. */
const MAX_TOKENS = 512;

/** How long an answer may be by default. */
export interface AnswerLimit {
  /** A count. */
  tokens: number;
  /** What it comes from, in words. */
  reason?: string;
}

/** What a job's answers need, also those of a checkpoint in its folder; else the same for every model. */
export async function answerLimit(
  project: ModelProject,
  reference: ModelReference,
): Promise<AnswerLimit> {
  const { kind } = reference;
  const job =
    reference.job ??
    (kind === "saved" ? jobAt(project, dirname(dirname(reference.directory))) : undefined);
  if (!job) return { tokens: MAX_TOKENS };
  const { directory, config } = job;
  try {
    const model = findArtifact(kind === "saved" ? reference.directory : directory);
    const tokens = await learnedTokens(config, directory, model);
    if (tokens === undefined) return { tokens: MAX_TOKENS };
    const reason = `a quarter more than the longest that job ${basename(directory)} learned`;
    return { tokens, reason };
  } catch {
    // Its rows are not here any more, or never were.
    return { tokens: MAX_TOKENS };
  }
}
