import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { KitError } from "../protocol/error.ts";
import { isKit } from "../sdk/kit.ts";
import type { Trainer } from "../sdk/trainer.ts";
import { DEFAULT_ENTRY } from "./bundle.ts";
import { describeThrown } from "./thrown.ts";
import { startWatchdog } from "./watchdog.ts";

const LIMIT_MS = 30_000;
/** The watchdog is for a loop, in which no timer of this thread can ring. */
const WATCHDOG_SLACK_MS = 1_000;

/**
 * Imports a bundle, which runs the project's code.
 * @param entry its source, as errors name it
 * @returns the trainer it exposes, or null
 * @throws KitError `IMPORT_FAILED` saying where in the project's sources, or `IMPORT_STUCK`
 */
export async function loadTrainer(
  bundle: string,
  entry = DEFAULT_ENTRY,
  limitMs = LIMIT_MS,
): Promise<Trainer | null> {
  process.setSourceMapsEnabled(true);
  const stuck = `${entry} did not finish loading within ${limitMs / 1000} s. Look for a loop or a top-level await that does not end, in it or in what it imports.`;
  const watchdog = startWatchdog(limitMs + WATCHDOG_SLACK_MS, `kit: ${stuck}`);
  let module: Record<string, unknown> | undefined;
  try {
    const loading = import(pathToFileURL(bundle).href) as Promise<Record<string, unknown>>;
    // Nothing else in the process open: Node ends it by itself.
    module = await Promise.race([loading, delay(limitMs, undefined, { ref: false })]);
  } catch (error) {
    throw new KitError("IMPORT_FAILED", describeThrown(error), { cause: error });
  } finally {
    watchdog.stop();
  }
  if (!module) throw new KitError("IMPORT_STUCK", stuck);
  const kit = [module.default, ...Object.values(module)].find(isKit);
  return kit?.trainer ?? null;
}
