import { existsSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { KitError, isKitError } from "../../protocol/error.ts";
import type { Metrics } from "../../protocol/metric.ts";
import { exactMatch, jsonFields, labels, validJson } from "../../sdk/metrics.ts";
import { DRIVER } from "../../sdk/trainer.ts";
import { buildBundle, ensureBundle } from "../project/bundle.ts";
import { loadEntry } from "../project/loadEntry.ts";

const BUILT_IN: Metrics = { exactMatch, validJson, jsonFields, labels };

/**
 * The metrics of the project's trainer, or the named ones.
 * @param names of the trainer's metrics, or `exactMatch`, `validJson`, `jsonFields`, `labels`
 * @throws KitError `USAGE_INVALID` for an unknown name
 */
export async function projectMetrics(
  project: string,
  names: readonly string[],
  onNote: (text: string) => void,
): Promise<Metrics> {
  const trainerMetrics = await metricsOfTrainer(project, onNote);
  if (names.length === 0) return trainerMetrics ?? BUILT_IN;
  const available: Metrics = { ...BUILT_IN, ...trainerMetrics };
  return Object.fromEntries(
    names.map((name) => {
      const metric = Object.hasOwn(available, name) ? available[name] : undefined;
      if (metric) return [name, metric];
      throw new KitError(
        "USAGE_INVALID",
        `There is no metric ${name}. Use one of ${Object.keys(available).join(", ")}.`,
      );
    }),
  );
}

/** Undefined without a project or without its own metrics. */
async function metricsOfTrainer(
  project: string,
  onNote: (text: string) => void,
): Promise<Metrics | undefined> {
  if (!existsSync(join(project, DEFAULT_ENTRY))) return undefined;
  // Build again, because the latest edit may be to a metric.
  const bundle = await buildBundle(project).catch((error: unknown) => {
    if (!isKitError(error) || error.code !== "CANNOT_WRITE") throw error;
    // Use the last build of a read-only project.
    return ensureBundle(project, undefined, (stale) => onNote(`warning: ${stale}`));
  });
  return (await loadEntry(bundle, DEFAULT_ENTRY))[DRIVER].prepared.metrics;
}
