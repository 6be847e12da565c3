/**
 * Makes programs print colours, which the page shows. Keeps the user's own choice; an empty `NO_COLOR`
 * isn't one (no-color.org).
 */
export function withColour(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isDecided = env.FORCE_COLOR !== undefined || env.NO_COLOR || env.NODE_DISABLE_COLORS;
  if (isDecided) return env;
  return {
    ...env,
    // 16 colours, as the page supports.
    FORCE_COLOR: "1",
    // Node warns about a variable that FORCE_COLOR overrides, even an empty one.
    NO_COLOR: undefined,
    NODE_DISABLE_COLORS: undefined,
  };
}
