import { basename, dirname } from "node:path";
import { maxAnswerTokens } from "../../sdk/engine.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { type ModelProject, type ModelReference, jobAt } from "../../sdk/models/reference.ts";

/** A model that hasn't learned to stop would ramble for minutes. */
const MAX_TOKENS = 512;

/** The default limit of an answer. */
export interface AnswerLimit {
  tokens: number;
  /** Where the limit comes from, for a message. */
  reason?: string;
}

/** Enough for the answers that the model's job learned; a constant for other models. */
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
    const tokens = await maxAnswerTokens(config, directory, model);
    if (tokens === undefined) return { tokens: MAX_TOKENS };
    const reason = `25 % more than the longest answer that job ${basename(directory)} learned`;
    return { tokens, reason };
  } catch {
    // The rows were deleted, or were never on this machine.
    return { tokens: MAX_TOKENS };
  }
}
