import { randomInt } from "node:crypto";
import { readdirSync } from "node:fs";
import { cannotRead, refuseLink } from "../disk/file.ts";
import { isKitError } from "../protocol/error.ts";

const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";
const ID = /^\d{8}-\d{6}-\d{3}-[a-z0-9]{4}$/;
const PARTS = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-(\d{3})-/;
/** A five-digit year would not sort. */
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * An id that sorts by creation time, in UTC to the millisecond: `20261121-095830-123-k3f9`.
 * @param newest the project's newest id; the new one sorts after it even if the clock went back
 */
export function createJobId(now: Date = new Date(), newest = ""): string {
  const next = (timeOfJobId(newest)?.getTime() ?? 0) + 1;
  const time = new Date(next <= LAST_MS ? Math.max(now.getTime(), next) : now);
  const [date = "", clock = ""] = time.toISOString().replace(/[-:Z]/g, "").split("T");
  const suffix = Array.from({ length: 4 }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return `${date}-${clock.replace(".", "-")}-${suffix.join("")}`;
}

/** The time in a job's id; undefined when it is invalid. */
export function timeOfJobId(id: string): Date | undefined {
  const [, year, month, day, hour, minute, second, millisecond] = PARTS.exec(id) ?? [];
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${millisecond}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Whether a value is a job id, and so safe as a file name. */
export function isJobId(value: string): boolean {
  return ID.test(value);
}

/**
 * The ids of all job folders, newest first.
 * @throws KitError `CANNOT_READ`, `LINK_IN_KIT`
 */
export function readJobIds(root: string): string[] {
  try {
    refuseLink(root);
    const entries = readdirSync(root, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    return folders.filter(isJobId).sort().reverse();
  } catch (error) {
    if (isKitError(error)) throw error;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cannotRead(root, error);
  }
}
