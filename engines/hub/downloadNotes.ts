import { formatCount } from "../../protocol/format.ts";

const NOTE_INTERVAL_MS = 2_000;

/**
 * Notes on the progress of a download: its size first, then the bytes received.
 * @param now a monotonic clock, in milliseconds
 * @returns a function that takes the bytes received
 */
export function createDownloadNotes(
  what: string,
  totalBytes: number,
  note: (text: string) => void,
  now: () => number = () => performance.now(),
): (bytes: number) => void {
  let notedAt = now();
  note(`downloading ${what}, ${megabytes(totalBytes)}`);
  return (bytes) => {
    if (now() - notedAt < NOTE_INTERVAL_MS) return;
    notedAt = now();
    note(`downloading ${what}: ${megabytes(bytes)} of ${megabytes(totalBytes)}`);
  };
}

export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${formatCount(value < 10 ? value : Math.round(value))} MB`;
}
