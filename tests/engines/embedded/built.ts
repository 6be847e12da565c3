import type * as source from "../../../engines/embedded/index.ts";

/**
 * The engine as it is built: its threads run plain JavaScript. Typed by its source, so that the
 * types can be checked before anything is built.
 */
export const { createEmbeddedEngine } = await builtModule<typeof source>("index.js");

/** A module of the embedded engine as it is built, beside the kernels. @param T of its source */
export async function builtModule<T>(path: string): Promise<T> {
  const url = new URL(`../../../dist/engines/embedded/${path}`, import.meta.url);
  return (await import(url.href)) as T;
}
