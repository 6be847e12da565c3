import { formatCount } from "../../protocol/format.ts";

const NOTE_INTERVAL_MS = 2_000;

/**
 * Notes on the progress of a download or upload: its size first, then the bytes so far.
 * @param doing such as `downloading org/name`
 * @param now a monotonic clock, in milliseconds
 * @returns a function that takes the bytes so far
 */
export function createTransferNotes(
  doing: string,
  totalBytes: number,
  note: (text: string) => void,
  now: () => number = () => performance.now(),
): (bytes: number) => void {
  let notedAt = now();
  note(`${doing}, ${megabytes(totalBytes)}`);
  return (bytes) => {
    if (now() - notedAt < NOTE_INTERVAL_MS) return;
    notedAt = now();
    note(`${doing}: ${megabytes(bytes)} of ${megabytes(totalBytes)}`);
  };
}

export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${formatCount(value < 10 ? value : Math.round(value))} MB`;
}
