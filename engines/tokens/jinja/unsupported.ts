/** A feature of Python's Jinja that Kit lacks. */
export class UnsupportedInTemplate extends Error {
  /** @param what a template does */
  constructor(what: string) {
    super(`${what}, which Kit doesn't support`);
  }
}

/** The error for an integer that JavaScript's numbers can't hold exactly. */
export function tooLargeInteger(does: "computes with" | "has"): UnsupportedInTemplate {
  return new UnsupportedInTemplate(`it ${does} an integer beyond 2^53`);
}
