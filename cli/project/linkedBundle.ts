import { realpathSync } from "node:fs";
import { register } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Resolves what one module imports as from another place. Node runs it in a thread of its own. */
const HOOKS = `
  let moved;
  export function initialize(data) { moved = data; }
  export function resolve(name, context, next) {
    const isMoved = context.parentURL?.split("?")[0] === moved.real;
    return next(name, isMoved ? { ...context, parentURL: moved.shown } : context);
  }
`;

/**
 * Lets a bundle find the project's packages where `.kit` is a link to a folder on another disk: Node
 * looks for them from where a file really lies.
 */
export function resolveFromProject(bundle: string): void {
  const real = realpathSync(bundle);
  const build = dirname(bundle);
  const kit = dirname(build);
  const own = join(realpathSync(dirname(kit)), basename(kit), basename(build), basename(bundle));
  if (real === own) return;
  register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, {
    data: { real: pathToFileURL(real).href, shown: pathToFileURL(bundle).href },
  });
}
