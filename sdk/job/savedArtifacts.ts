import { rmSync } from "node:fs";
import { join } from "node:path";
import { checkpointSteps, removeArtifact } from "../../jobs/artifactFiles.ts";
import { ARTIFACTS, checkpointFolder } from "../../protocol/artifactPath.ts";
import type { Engine } from "../../protocol/engine.ts";
import type { JobEvent } from "../../protocol/event.ts";
import type { JobArguments } from "../../protocol/trainerOptions.ts";
import { type Artifact, type ArtifactContext, locateArtifact } from "../models/artifact.ts";
import { bestScore, createScorer } from "./checkpointScore.ts";

/** The artifacts that a job has saved and not removed since. */
export interface SavedArtifacts {
  /** Takes each event, so that each checkpoint has its step's measure. */
  onEvent: (event: JobEvent) => void;
  /**
   * The callback of a step's checkpoint has returned: removes the oldest that are too many, but not
   * the best, the newest, or one whose callback is still to come.
   * @throws KitError `CANNOT_WRITE`
   */
  release: (step: number) => void;
  /** Up to a step's, oldest first. */
  upTo: (step: number) => Artifact[];
  /** All, oldest first, the best marked; with `loadBestModelAtEnd` it is the last. */
  result: () => Artifact[];
  /** Removes checkpoints that were saved, but never reported. */
  removeUnknown: () => void;
  /** Removes the files that only a resume needs, as far as it can. */
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
    for (const { directory } of saved) for (const name of resumeFiles) drop(join(directory, name));
  }

  return {
    dropResumeFiles,
    onEvent(jobEvent) {
      const scored = scoreOf(jobEvent);
      if (scored) scoresByStep.set(scored.step, scored.score);
      const { event, data } = jobEvent;
      if (event === "checkpoint.saved") {
        // A training goes on from the newest.
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
        removeArtifact(artifact.directory);
        saved = saved.filter((other) => other !== artifact);
      }
    },
    upTo: (step) => saved.filter((artifact) => artifact.step <= step),
    result() {
      const winner = best();
      if (!winner) return [...saved];
      const marked = { ...winner, best: true };
      if (!loadBestModelAtEnd) return saved.map((one) => (one === winner ? marked : one));
      return [...saved.filter((one) => one !== winner), marked];
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

function drop(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Leftovers only use disk.
  }
}
