/** A sentence for each entry of a lock that a manifest does not want. */
export function problemsOf(lock: object, manifest: object): string[];
