/**
 * An environment whose programs print in colour, as they do in a terminal: the page shows it. What
 * its owner has said about colours stands; an empty `NO_COLOR` says nothing (no-color.org).
 */
export function inColour(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isDecided = env.FORCE_COLOR !== undefined || env.NO_COLOR || env.NODE_DISABLE_COLORS;
  if (isDecided) return env;
  return {
    ...env,
    // 16 colours, all that the page has.
    FORCE_COLOR: "1",
    // Node warns of a variable that FORCE_COLOR overrides, be it empty.
    NO_COLOR: undefined,
    NODE_DISABLE_COLORS: undefined,
  };
}
