import { relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { KitError, isKitError, messageOf } from "../protocol/error.ts";
import { isKit } from "../sdk/kit.ts";
import type { Trainer } from "../sdk/trainer.ts";

const LIMIT_MS = 30_000;

/**
 * Imports a bundle, which runs the project's code.
 * @returns the trainer it exposes, or null
 * @throws KitError `IMPORT_FAILED` saying where in the project's sources, or `IMPORT_STUCK`
 */
export async function loadTrainer(bundle: string, limitMs = LIMIT_MS): Promise<Trainer | null> {
  process.setSourceMapsEnabled(true);
  let module: Record<string, unknown> | undefined;
  try {
    const loading = import(pathToFileURL(bundle).href) as Promise<Record<string, unknown>>;
    // Nothing else in the process open: Node ends it by itself.
    module = await Promise.race([loading, delay(limitMs, undefined, { ref: false })]);
  } catch (error) {
    throw new KitError("IMPORT_FAILED", describeImportError(error), { cause: error });
  }
  if (!module) {
    throw new KitError(
      "IMPORT_STUCK",
      `src/kit/index.ts did not finish loading within ${limitMs / 1000} s. Look for a top-level await that does not settle, in it or in what it imports.`,
    );
  }
  const kit = [module.default, ...Object.values(module)].find(isKit);
  return kit?.trainer ?? null;
}

function describeImportError(error: unknown): string {
  const message = messageOf(error) || "an error without a message was thrown";
  const name = error instanceof Error && !isKitError(error) ? `${error.name}: ` : "";
  const place = error instanceof Error ? sourcePlace(error) : undefined;
  return `${name}${message}${place ? ` (${place})` : ""}`;
}

/** The first place in the project's own sources that the stack names: `src/kit/trainer.ts:3:9`. */
function sourcePlace(error: Error): string | undefined {
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
