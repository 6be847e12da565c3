import type * as source from "../../../engines/webgpu/index.ts";

/** The engine as it is built: its process runs plain JavaScript. Typed by its source. */
export const { createWebgpuEngine } = (await import(
  new URL("../../../dist/engines/webgpu/index.js", import.meta.url).href
)) as typeof source;
