import { formatCount } from "../../protocol/format.ts";
import { megabytes } from "../hub/transferNotes.ts";

/** Reading a smaller file takes about a second. */
const LARGE_BYTES = 16e6;
const NOTE_INTERVAL_MS = 10_000;

/**
 * Notes on the progress of reading: at once for a large file, then every few seconds.
 * @param now a monotonic clock, in milliseconds
 * @returns a function to call after each read
 */
export function createReadingNotes(
  note: (text: string) => void,
  now: () => number = () => performance.now(),
): (rows: number, bytes: number, fileBytes: number) => void {
  let notedAt = now();
  let isFirst = true;
  return (rows, bytes, fileBytes) => {
    const time = now();
    const isLarge = isFirst && fileBytes >= LARGE_BYTES;
    isFirst = false;
    if (!isLarge && time - notedAt < NOTE_INTERVAL_MS) return;
    notedAt = time;
    if (isLarge) return note(`reading the dataset, ${megabytes(fileBytes)}`);
    // A pipe has no size.
    const ofTotal = fileBytes >= bytes ? ` of ${megabytes(fileBytes)}` : "";
    note(`reading the dataset: ${formatCount(rows)} rows, ${megabytes(bytes)}${ofTotal}`);
  };
}
