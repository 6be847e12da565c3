import { relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { KitError, isKitError } from "../protocol/error.ts";
import { isKit } from "../sdk/kit.ts";
import type { Trainer } from "../sdk/trainer.ts";
import { startWatchdog } from "./watchdog.ts";

const LIMIT_MS = 30_000;
/** The watchdog is for a loop, in which no timer of this thread can ring. */
const WATCHDOG_SLACK_MS = 1_000;

/**
 * Imports a bundle, which runs the project's code.
 * @returns the trainer it exposes, or null
 * @throws KitError `IMPORT_FAILED` saying where in the project's sources, or `IMPORT_STUCK`
 */
export async function loadTrainer(bundle: string, limitMs = LIMIT_MS): Promise<Trainer | null> {
  process.setSourceMapsEnabled(true);
  const stuck = `src/kit/index.ts did not finish loading within ${limitMs / 1000} s. Look for a loop or a top-level await that does not end, in it or in what it imports.`;
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

/** A thrown value in one sentence, with its place in the project's sources where the stack has it. */
export function describeThrown(error: unknown): string {
  if (!(error instanceof Error)) {
    return `The project's code threw ${inspect(error)}. Throw an Error, which tells where it comes from.`;
  }
  if (isKitError(error)) return withPlace(error.message, error);
  const missing = missingPackage(error);
  if (missing === "kit") {
    return "The bundle was built by a Kit that is no longer where it was. Run kit build, or reload the page.";
  }
  if (missing)
    return `The package ${missing} is not installed. Install it with: npm install ${missing}`;
  const message = error.message.replace(/'file:[^']*sdk\/index\.js'/, "'kit'");
  return withPlace(`${error.name}: ${message || "an error without a message"}`, error);
}

/** The name of a package that an import did not find; `kit` for a path to a Kit that has moved. */
function missingPackage(error: Error): string | undefined {
  if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") return undefined;
  if (/'[^']*dist[\\/]sdk[\\/]index\.js'/.test(error.message)) return "kit";
  return /^Cannot find package '([^']+)'/.exec(error.message)?.[1];
}

function withPlace(text: string, error: Error): string {
  const place = sourcePlace(error);
  return place ? `${text} (${place})` : text;
}

/** The first place in the project's own sources that the stack names: `src/kit/trainer.ts:3:9`. */
export function sourcePlace(error: Error): string | undefined {
  for (const line of error.stack?.split("\n") ?? []) {
    const found = /\(?((?:file:\/\/)?\/[^()]*?):(\d+):(\d+)\)?$/.exec(line.trim());
    if (!found) continue;
    const [, place = "", row, column] = found;
    const path = place.startsWith("file:") ? fileURLToPath(place) : place;
    const local = relative(process.cwd(), path);
    const isOwn = !local.startsWith("..") && !/^(node_modules|\.kit)\b/.test(local);
    if (isOwn) return `${local}:${row}:${column}`;
  }
  return undefined;
}
