/**
 * The engine as it is built: its threads run plain JavaScript. Typed by its source, so that the
 * types can be checked before anything is built.
 */
export const { createEngine } = (await import(
  new URL("../../dist/engine/index.js", import.meta.url).href
)) as typeof import("../../engine/index.ts");
