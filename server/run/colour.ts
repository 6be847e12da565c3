/**
 * An environment whose programs print in colour, as they do in a terminal: the page shows it. What
 * its owner has said about colours stands; an empty `NO_COLOR` says nothing (no-color.org).
 */
export function inColour(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isDecided = env.FORCE_COLOR !== undefined || env.NO_COLOR || env.NODE_DISABLE_COLORS;
  if (isDecided) return env;
  // Node warns of a variable that FORCE_COLOR overrides, be it empty.
  const { NO_COLOR: _no, NODE_DISABLE_COLORS: _disable, ...rest } = env;
  // 16 colours, all that the page has.
  return { ...rest, FORCE_COLOR: "1" };
}
