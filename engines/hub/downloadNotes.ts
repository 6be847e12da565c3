import { formatCount } from "../../protocol/format.ts";
/** Between two notes, in ms. */
const NOTE_EVERY_MS = 2_000;

/**
 * Notes for people on a download: how large it is, and then how much has come.
 * @param now milliseconds, of a clock that never goes back
 * @returns a function that takes how many bytes are there
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
