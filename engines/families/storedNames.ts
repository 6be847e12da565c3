import { EMBEDDING, HEAD } from "./projections.ts";

const PREFIX = "model.";

/**
 * Maps stored tensor names to the model's, as `transformers` does: a model without a head lacks the prefix, a wrapper
 * has it twice, and a tied model may store its head instead of its embedding.
 */
export function modelNames(stored: ReadonlySet<string>, tied: boolean): (name: string) => string {
  const names = new Set([...stored].map(withPrefix));
  const storesHeadOnly = tied && names.has(HEAD) && !names.has(EMBEDDING);
  return (name) => (storesHeadOnly && withPrefix(name) === HEAD ? EMBEDDING : withPrefix(name));
}

function withPrefix(name: string): string {
  if (name === HEAD || name === PREFIX + HEAD) return HEAD;
  if (name.startsWith(PREFIX + PREFIX)) return name.slice(PREFIX.length);
  return name.startsWith(PREFIX) ? name : PREFIX + name;
}
