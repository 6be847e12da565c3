import { fork } from "node:child_process";
import { KitError } from "../protocol/error.ts";
import type { Manifest } from "../protocol/http.ts";
import { type ManifestMessage, describeEarlyExit } from "../protocol/manifest.ts";

const LIMIT_MS = 30_000;

/**
 * Builds and loads the project in a subprocess, whose end nothing in the project can prevent.
 * @throws KitError `MANIFEST_FAILED` with the build's or the import's error
 */
export function readManifest(options: {
  project: string;
  kit: string[];
  limitMs?: number;
}): Promise<Manifest> {
  const { project, kit, limitMs = LIMIT_MS } = options;
  const [execPath = "", script = "", ...first] = kit;
  return new Promise((resolve, reject) => {
    const child = fork(script, [...first, "manifest"], {
      execPath,
      cwd: project,
      // What the project prints while it is loaded is nobody's.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      detached: true,
    });
    const fail = (message: string) => reject(new KitError("MANIFEST_FAILED", message));
    const timer = setTimeout(() => {
      fail(
        `src/kit/index.ts did not finish loading within ${limitMs / 1000} s. Look for a loop or a wait that does not end, in it or in what it imports.`,
      );
      killGroup(child.pid);
    }, limitMs);
    child.once("message", (message: ManifestMessage) => {
      if ("error" in message) fail(message.error);
      else resolve(message);
    });
    child.once("error", (error) => fail(`Cannot run kit: ${error.message}.`));
    child.once("exit", (code) => {
      clearTimeout(timer);
      // After a message this changes nothing; what the project started ends with it.
      fail(describeEarlyExit(code));
      killGroup(child.pid);
    });
  });
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone.
  }
}
