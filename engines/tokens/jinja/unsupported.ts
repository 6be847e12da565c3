/** A feature of Python's Jinja that Kit lacks. */
export class UnsupportedInTemplate extends Error {
  /** @param what a template does */
  constructor(what: string) {
    super(`${what}, which Kit doesn't support`);
  }
}

/** JavaScript's numbers aren't exact beyond 2^53. */
export function bigInteger(does: "computes with" | "has"): UnsupportedInTemplate {
  return new UnsupportedInTemplate(`it ${does} an integer beyond 2^53`);
}
