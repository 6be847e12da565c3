import { fork } from "node:child_process";
import { KitError } from "../protocol/error.ts";
import type { Manifest } from "../protocol/http.ts";
import {
  type ManifestMessage,
  describeEarlyExit,
  isManifestMessage,
} from "../protocol/manifest.ts";
import { signalGroup } from "./group.ts";

const LIMIT_MS = 30_000;
/** Each is a process that builds. Some, so that one that hangs does not keep the next waiting. */
const MOST_AT_ONCE = 4;

export interface ManifestReader {
  /**
   * Builds and loads the project in a subprocess, whose end nothing in the project can prevent.
   * Where many ask at once, they share one that begins after they have asked.
   * @throws KitError `MANIFEST_FAILED` with the build's or the import's error
   */
  read: () => Promise<Manifest>;
  /** Ends what is being read, and reads nothing more. */
  close: () => void;
}

export function createManifestReader(options: {
  project: string;
  kit: string[];
  limitMs?: number;
}): ManifestReader {
  const { project, kit, limitMs = LIMIT_MS } = options;
  const [execPath = "", script = "", ...first] = kit;
  const pids = new Set<number>();

  /** What the subprocess says; resolves when it and all that it started have been ended. */
  function ask(): Promise<ManifestMessage> {
    return new Promise((resolve) => {
      const child = fork(script, [...first, "manifest"], {
        execPath,
        cwd: project,
        // What the project prints while it is loaded is nobody's.
        stdio: ["ignore", "ignore", "ignore", "ipc"],
        detached: true,
      });
      const { pid = 0 } = child;
      pids.add(pid);
      let answer: ManifestMessage | undefined;
      const timer = setTimeout(() => {
        conclude({
          error: `src/kit/index.ts did not finish loading within ${limitMs / 1000} s. Look for a loop or a wait that does not end, in it or in what it imports.`,
        });
      }, limitMs);
      const conclude = (message: ManifestMessage) => {
        answer ??= message;
        signalGroup(pid, "SIGKILL");
      };
      const settle = (message: ManifestMessage) => {
        clearTimeout(timer);
        conclude(message);
        pids.delete(pid);
        resolve(answer ?? message);
      };
      child.on("message", (message) => {
        if (isManifestMessage(message)) conclude(message);
      });
      child.once("error", (error) => settle({ error: `Cannot run kit: ${error.message}.` }));
      child.once("exit", (code, signal) => settle({ error: describeEarlyExit(code, signal) }));
    });
  }

  let asking = 0;
  let shared: Promise<ManifestMessage> | undefined;
  let beginShared: (() => void) | undefined;
  let isClosed = false;

  async function begin(): Promise<ManifestMessage> {
    if (isClosed) return { error: "kit ui is ending. Start it again." };
    asking++;
    const message = await ask();
    asking--;
    beginShared?.();
    return message;
  }

  function askSoon(): Promise<ManifestMessage> {
    if (asking < MOST_AT_ONCE) return begin();
    shared ??= new Promise((resolve) => {
      beginShared = () => {
        shared = beginShared = undefined;
        resolve(begin());
      };
    });
    return shared;
  }

  return {
    async read() {
      const message = await askSoon();
      if ("error" in message) throw new KitError("MANIFEST_FAILED", message.error);
      return message;
    },
    close() {
      isClosed = true;
      for (const pid of pids) signalGroup(pid, "SIGKILL");
    },
  };
}
