/** The variables of a part of a template. What is set in a part is not seen outside of it. */
export interface Scope {
  get: (name: string) => unknown;
  set: (name: string, value: unknown) => void;
}

/** @param outer whose variables are seen, too */
export function createScope(outer?: Scope, values: Iterable<[string, unknown]> = []): Scope {
  const own = new Map(values);
  return {
    get: (name) => (own.has(name) ? own.get(name) : outer?.get(name)),
    set: (name, value) => void own.set(name, value),
  };
}
