import type * as source from "../../../engines/embedded/index.ts";

/**
 * The engine as it is built: its threads run plain JavaScript. Typed by its source, so that the
 * types can be checked before anything is built.
 */
const built = (await import(
  new URL("../../../dist/engines/embedded/index.js", import.meta.url).href
)) as typeof source;

export const { createEmbeddedEngine } = built;
