import { realpathSync } from "node:fs";
import { register } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { DEFAULT_ENTRY, LOAD_LIMIT_MS, stillLoading } from "../../protocol/entry.ts";
import { KitError } from "../../protocol/error.ts";
import { setAwakeTimeout } from "../../protocol/sleep.ts";
import { isCompatible } from "../../protocol/version.ts";
import { isKit, versionOf } from "../../sdk/kit.ts";
import type { Trainer } from "../../sdk/trainer.ts";
import { otherVersion } from "../packages/kitPackage.ts";
import { startWatchdog } from "../process/watchdog.ts";
import { describeError } from "./describeError.ts";

/** Lets this thread's own timer fire first; the watchdog is for loops that block the thread. */
const WATCHDOG_SLACK_MS = 1_000;

/**
 * @returns the exposed trainer, if any
 * @throws KitError as `loadProject` and `exposedTrainer`
 */
export async function loadTrainer(
  ...args: Parameters<typeof loadProject>
): Promise<Trainer | undefined> {
  return exposedTrainer(await loadProject(...args));
}

/**
 * The trainer that a project's module passes to `createKit`, if any.
 * @throws KitError `KIT_VERSION` if an incompatible version of Kit created it
 */
export function exposedTrainer(exports: Record<string, unknown>): Trainer | undefined {
  const kit = [exports.default, ...Object.values(exports)].find(isKit);
  if (kit && !isCompatible(versionOf(kit))) throw otherVersion(process.cwd(), versionOf(kit));
  return kit?.trainer;
}

/**
 * Imports a bundle, which runs the project's code.
 * @param entry the bundle's source, as errors name it
 * @returns what it exports
 * @throws KitError `IMPORT_FAILED` with the location in the project's sources, `IMPORT_STUCK`
 */
export async function loadProject(
  bundle: string,
  entry = DEFAULT_ENTRY,
  limitMs = LOAD_LIMIT_MS,
): Promise<Record<string, unknown>> {
  if (sep !== "\\" && bundle.includes("\\")) {
    throw new KitError(
      "IMPORT_FAILED",
      `Node.js cannot load code from ${dirname(bundle)}: the path has a backslash. Rename that folder.`,
    );
  }
  process.setSourceMapsEnabled(true);
  const stuckMessage = stillLoading(entry, limitMs);
  const watchdog = startWatchdog(limitMs + WATCHDOG_SLACK_MS, `kit: ${stuckMessage}`);
  let module: Record<string, unknown> | undefined;
  try {
    resolveFromProject(bundle);
    const loading = import(pathToFileURL(bundle).href) as Promise<Record<string, unknown>>;
    // The limit keeps nothing alive: if nothing else is open, Node ends the process.
    const limit = new Promise<undefined>((resolve) => {
      setAwakeTimeout(() => resolve(undefined), limitMs).unref();
    });
    module = await Promise.race([loading, limit]);
  } catch (error) {
    throw new KitError("IMPORT_FAILED", describeError(error), { cause: error });
  } finally {
    watchdog.stop();
  }
  if (!module) throw new KitError("IMPORT_STUCK", stuckMessage);
  return module;
}

/** Resolves one module's imports from another path. Node runs these hooks in their own thread. */
const HOOKS = `
  let moved;
  export function initialize(data) { moved = data; }
  export function resolve(name, context, next) {
    const isMoved = context.parentURL?.split("?")[0] === moved.real;
    return next(name, isMoved ? { ...context, parentURL: moved.linked } : context);
  }
`;

/**
 * Lets a bundle find the project's packages even if `.kit` is a symlink: Node resolves imports from a
 * file's real path.
 */
function resolveFromProject(bundle: string): void {
  const real = realpathSync(bundle);
  const project = dirname(dirname(dirname(bundle)));
  const expected = join(realpathSync(project), relative(project, bundle));
  if (real === expected) return;
  register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, {
    data: { real: pathToFileURL(real).href, linked: pathToFileURL(bundle).href },
  });
}
