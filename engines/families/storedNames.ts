import { EMBEDDING, HEAD } from "./projections.ts";

const PREFIX = "model.";

/**
 * What a model calls the tensors that are stored under these names, as `transformers` takes them: those of the
 * model alone lack its prefix, those of a wrapper have it twice, and the head of a tied model may be stored in
 * place of its embedding.
 */
export function modelNames(stored: ReadonlySet<string>, tied: boolean): (name: string) => string {
  const names = new Set([...stored].map(prefixed));
  const isSwapped = tied && names.has(HEAD) && !names.has(EMBEDDING);
  return (name) => (isSwapped && prefixed(name) === HEAD ? EMBEDDING : prefixed(name));
}

function prefixed(name: string): string {
  if (name === HEAD || name === PREFIX + HEAD) return HEAD;
  if (name.startsWith(PREFIX + PREFIX)) return name.slice(PREFIX.length);
  return name.startsWith(PREFIX) ? name : PREFIX + name;
}
