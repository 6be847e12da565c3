import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { type Mock, onTestFinished, vi } from "vitest";

/**
 * Until the test has finished, `fs.watch` fails, as it does when the system has no watches left.
 * Returns what took its place.
 */
export function disableWatch(): Mock {
  const watch = vi.spyOn(fs, "watch").mockImplementation(() => {
    throw new Error("ENOSPC: System limit for number of file watchers reached");
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    watch.mockRestore();
    syncBuiltinESMExports();
  });
  return watch;
}
