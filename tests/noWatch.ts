import { watch } from "node:fs";
import { onTestFinished, vi } from "vitest";

/**
 * Until the test has finished, `fs.watch` fails, as it does when the system has no watches left.
 * The test's file must mock it as `tests/disk/follow.test.ts` does.
 */
export function disableWatch(): void {
  vi.mocked(watch).mockImplementation(() => {
    throw new Error("ENOSPC: System limit for number of file watchers reached");
  });
  onTestFinished(() => void vi.mocked(watch).mockReset());
}
