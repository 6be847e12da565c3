/**
 * Makes programs print in colour, as in a terminal, because the page shows it. Keeps the user's own
 * choice; an empty `NO_COLOR` doesn't count as one (no-color.org).
 */
export function withColour(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isDecided = env.FORCE_COLOR !== undefined || env.NO_COLOR || env.NODE_DISABLE_COLORS;
  if (isDecided) return env;
  return {
    ...env,
    // 16 colours, as many as the page has.
    FORCE_COLOR: "1",
    // Node warns about a variable that FORCE_COLOR overrides, even an empty one.
    NO_COLOR: undefined,
    NODE_DISABLE_COLORS: undefined,
  };
}
