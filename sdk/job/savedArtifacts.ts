import { join } from "node:path";
import { checkpointSteps, removeArtifact, tryRemoveFiles } from "../../jobs/artifactFiles.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import type { Engine } from "../../protocol/engine.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { JobArguments } from "../../protocol/trainerOptions.ts";
import { type Artifact, type ArtifactContext, locateArtifact } from "../models/artifact.ts";
import { bestScore, createScorer } from "./checkpointScore.ts";

/** The artifacts that a job has saved and not removed since. */
export interface SavedArtifacts {
  /** Handles each event, to score checkpoints. */
  onEvent: (event: JobEvent) => void;
  /**
   * Called when a checkpoint's callback has returned. Prunes the oldest beyond `saveTotalLimit`; keeps the
   * best, the newest, and those whose callback is still to come.
   * @throws KitError `CANNOT_WRITE`
   */
  release: (step: number) => void;
  /** Artifacts up to a step, oldest first. */
  upTo: (step: number) => Artifact[];
  /** All artifacts, oldest first, with the best marked; `loadBestModelAtEnd` puts it last. */
  result: () => Artifact[];
  /** Removes checkpoints that were never reported. */
  removeUnknown: () => void;
  /** Removes files that only resuming needs, if possible. */
  dropResumeFiles: () => void;
}

export interface SavedArtifactsContext extends ArtifactContext {
  engine: ArtifactContext["engine"] & Pick<Engine, "resumeFiles">;
}

export function createSavedArtifacts(
  job: SavedArtifactsContext,
  {
    saveTotalLimit,
    loadBestModelAtEnd,
    ...metric
  }: Pick<
    JobArguments,
    "saveTotalLimit" | "loadBestModelAtEnd" | "metricForBestModel" | "greaterIsBetter"
  >,
): SavedArtifacts {
  const { resumeFiles = [] } = job.engine;
  const limit = saveTotalLimit ?? Infinity;
  const scoreOf = createScorer(metric);
  const scoresByStep = new Map<number, number>();
  const released = new Set<number>();
  let saved: Artifact[] = [];

  function best(): Artifact | undefined {
    const scores = saved.flatMap(({ step }) => {
      const score = scoresByStep.get(step);
      return score === undefined ? [] : [{ step, score }];
    });
    const found = bestScore(scores);
    return found && saved.find(({ step }) => step === found.step);
  }

  function dropResumeFiles(): void {
    for (const { directory } of saved) tryRemoveFiles(directory, resumeFiles);
  }

  return {
    dropResumeFiles,
    onEvent(jobEvent) {
      const scored = scoreOf(jobEvent);
      if (scored) scoresByStep.set(scored.step, scored.score);
      const { event, data } = jobEvent;
      if (event === "checkpoint.saved") {
        // Resuming uses only the newest.
        dropResumeFiles();
        saved.push(locateArtifact(data, job));
      }
    },
    release(step) {
      released.add(step);
      const kept = [best(), saved.at(-1)];
      for (const artifact of saved.slice(0, -1)) {
        if (saved.length <= limit) return;
        if (kept.includes(artifact) || !released.has(artifact.step)) continue;
        // The next call tries again.
        if (!removeArtifact(artifact.directory)) continue;
        saved = saved.filter((other) => other !== artifact);
      }
    },
    upTo: (step) => saved.filter((artifact) => artifact.step <= step),
    result() {
      const winner = best();
      if (!winner) return [...saved];
      const marked = { ...winner, best: true };
      if (!loadBestModelAtEnd) return saved.map((each) => (each === winner ? marked : each));
      return [...saved.filter((each) => each !== winner), marked];
    },
    removeUnknown() {
      const known = saved.map((artifact) => artifact.directory);
      const artifacts = join(job.directory, ARTIFACTS);
      for (const step of checkpointSteps(artifacts)) {
        const path = join(artifacts, checkpointFolder(step));
        if (!known.includes(path)) removeArtifact(path);
      }
    },
  };
}
