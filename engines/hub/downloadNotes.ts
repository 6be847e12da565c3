import { formatCount } from "../../protocol/format.ts";

const NOTE_EVERY_MS = 2_000;

/**
 * Notes on the progress of a download: its size first, then the bytes received.
 * @param now a monotonic clock, in milliseconds
 * @returns a function that takes the bytes received
 */
export function createDownloadNotes(
  what: string,
  allBytes: number,
  note: (text: string) => void,
  now: () => number = () => performance.now(),
): (bytes: number) => void {
  let notedAt = now();
  note(`downloading ${what}, ${megabytes(allBytes)}`);
  return (bytes) => {
    if (now() - notedAt < NOTE_EVERY_MS) return;
    notedAt = now();
    note(`downloading ${what}: ${megabytes(bytes)} of ${megabytes(allBytes)}`);
  };
}

export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${formatCount(value < 10 ? value : Math.round(value))} MB`;
}
