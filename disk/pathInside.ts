import nodePath from "node:path";

/** A path relative to a folder that contains it; undefined elsewhere, such as on another drive of Windows. */
export function pathInside(folder: string, path: string, system = nodePath): string | undefined {
  const inside = system.relative(folder, path);
  const leadsOut = /^\.\.(?:[\\/]|$)/.test(inside) || system.isAbsolute(inside);
  return leadsOut ? undefined : inside;
}
