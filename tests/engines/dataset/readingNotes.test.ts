import { expect, test } from "vitest";
import { createReadingNotes } from "../../../engines/dataset/readingNotes.ts";

/** The notes on a file that is read for some seconds, at 1,000 rows and 1 MB a second. */
function notesOf(seconds: number, fileBytes: number): string[] {
  const notes: string[] = [];
  let now = 0;
  const note = createReadingNotes(
    (text) => notes.push(text),
    () => now,
  );
  for (; now <= seconds * 1000; now += 1000) note(now, now * 1000, fileBytes);
  return notes;
}

test("a large dataset is announced at once, and then counted every 10 seconds", () => {
  expect(notesOf(25, 368e6)).toEqual([
    "reading the dataset, 368 MB",
    "reading the dataset: 10,000 rows, 10 MB of 368 MB",
    "reading the dataset: 20,000 rows, 20 MB of 368 MB",
  ]);
});

test("a small dataset is read without a word, unless that takes long", () => {
  expect(notesOf(9, 1e6)).toEqual([]);
  expect(notesOf(11, 12e6)).toEqual(["reading the dataset: 10,000 rows, 10 MB of 12 MB"]);
});

test("a pipe has no size", () => {
  expect(notesOf(11, 0)).toEqual(["reading the dataset: 10,000 rows, 10 MB"]);
});
