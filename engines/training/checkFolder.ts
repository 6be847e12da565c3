import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRecord } from "../../disk/json.ts";
import { remove } from "../../disk/move.ts";
import { type Owner, describeOwner, ownerState } from "../../disk/owner.ts";

const PREFIX = "kit-check-";
const OWNER = "owner.json";

/** Creates a temporary folder for a training check, and removes the folders of checks that were killed. */
export function makeCheckFolder(): string {
  removeLeftovers();
  const directory = mkdtempSync(join(tmpdir(), PREFIX));
  writeFileSync(join(directory, OWNER), JSON.stringify(describeOwner()));
  return directory;
}

export function removeCheckFolder(directory: string): void {
  remove(directory);
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(PREFIX))) {
    const directory = join(tmpdir(), name);
    const owner = readRecord(join(directory, OWNER)) as Owner | undefined;
    try {
      if (owner && ownerState(owner) === "gone") removeCheckFolder(directory);
    } catch {
      // It belongs to another user.
    }
  }
}
