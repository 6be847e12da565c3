import { type FSWatcher, watch } from "node:fs";

/** More names than this are no help: reading them all is as quick. */
export const MOST_NAMES = 100;

/**
 * The names that the system tells have come to a folder or gone from it. Only hints: on many mounts
 * it tells nothing, and it may lose some.
 */
export interface FolderHints {
  /** Those told since the last call; one more than {@link MOST_NAMES} where there were more. */
  take: () => string[];
  /** Watches the folder that is there now, and no longer what it has watched. */
  renew: () => void;
  close: () => void;
}

export function createFolderHints(path: string): FolderHints {
  let watcher: FSWatcher | undefined;
  const names = new Set<string>();
  return {
    take() {
      const told = [...names];
      names.clear();
      return told;
    },
    renew() {
      watcher?.close();
      try {
        const renewed = watch(path, { persistent: false }, (_, name) => {
          if (name !== null && names.size <= MOST_NAMES) names.add(name);
        });
        watcher = renewed.on("error", () => renewed.close());
      } catch {
        // The folder is gone, or the system has no watches left: nothing is told.
        watcher = undefined;
      }
    },
    close: () => watcher?.close(),
  };
}
