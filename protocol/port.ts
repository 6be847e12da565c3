/** `kit ui` tries this port first, then those after it. */
export const DEFAULT_PORT = 4747;

/** `kit serve`'s. */
export const SERVE_PORT = 4748;

export const LAST_PORT = 65_535;
