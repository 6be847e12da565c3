/** What Kit does not do as Python's Jinja does. */
export class UnknownToKit extends Error {
  /** @param what a template does */
  constructor(what: string) {
    super(`${what}, which Kit does not know`);
  }
}

/** JavaScript's numbers are not exact there. */
export function bigInteger(does: "computes with" | "has"): UnknownToKit {
  return new UnknownToKit(`it ${does} an integer beyond 2^53`);
}
