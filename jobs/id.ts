import { randomInt } from "node:crypto";

const SUFFIX_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789";
const ID = /^\d{8}-\d{6}-\d{3}-[a-z0-9]{4}$/;

/** An id that sorts by creation time, in UTC to the millisecond: `20261121-095830-123-k3f9`. */
export function createJobId(now: Date = new Date()): string {
  const [date = "", time = ""] = now.toISOString().replace(/[-:Z]/g, "").split("T");
  const suffix = Array.from({ length: 4 }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]);
  return `${date}-${time.replace(".", "-")}-${suffix.join("")}`;
}

/** Holds for ids of our making only, which are safe as a file name. */
export function isJobId(value: string): boolean {
  return ID.test(value);
}
