/** How long a test waits for what should come, however busy the machine is, in milliseconds. */
export const PATIENCE_MS = 60_000;
