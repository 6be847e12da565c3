/** A sentence for each entry of a lock file that is not allowed. */
export function problemsOf(lock: object, manifest: object): string[];
