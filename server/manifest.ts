import { fork } from "node:child_process";
import { KitError } from "../protocol/error.ts";
import type { Manifest } from "../protocol/http.ts";
import { describeEarlyExit } from "../protocol/earlyExit.ts";
import { type ManifestMessage, isManifestMessage } from "../protocol/manifest.ts";
import { signalGroup } from "./processGroup.ts";

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

export interface ManifestReaderOptions {
  /** Absolute path of the project. */
  project: string;
  /** How to call the `kit` command: Node, its script, and first arguments. */
  kit: string[];
  /** How long building and loading may take. Default 30 s. */
  limitMs?: number;
}

export function createManifestReader(options: ManifestReaderOptions): ManifestReader {
  const closing = new AbortController();
  let asking = 0;
  let shared: Promise<ManifestMessage> | undefined;
  let beginShared: (() => void) | undefined;

  async function begin(): Promise<ManifestMessage> {
    if (closing.signal.aborted) return { error: "kit ui is ending. Start it again." };
    asking++;
    const message = await ask(options, closing.signal);
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
    close: () => closing.abort(),
  };
}

/** What the subprocess says; resolves when it and all that it started have been ended. */
function ask(options: ManifestReaderOptions, signal: AbortSignal): Promise<ManifestMessage> {
  const { project, kit, limitMs = LIMIT_MS } = options;
  const [execPath = "", script = "", ...first] = kit;
  return new Promise((resolve) => {
    const child = fork(script, [...first, "manifest"], {
      execPath,
      cwd: project,
      // What the project prints while it is loaded is nobody's.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      detached: true,
    });
    const end = () => signalGroup(child.pid ?? 0, "SIGKILL");
    let answer: ManifestMessage | undefined;
    const conclude = (message: ManifestMessage) => {
      answer ??= message;
      end();
    };
    const timer = setTimeout(() => {
      conclude({
        error: `src/kit/index.ts did not finish loading within ${limitMs / 1000} s. Look for a loop or a wait that does not end, in it or in what it imports.`,
      });
    }, limitMs);
    const settle = (message: ManifestMessage) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      conclude(message);
      resolve(answer ?? message);
    };
    signal.addEventListener("abort", end);
    child.on("message", (message) => {
      if (isManifestMessage(message)) conclude(message);
    });
    child.once("error", ({ message }) =>
      settle({
        error: `Cannot run kit: ${message}. Start kit ui again; if this stays, install Kit again.`,
      }),
    );
    child.once("exit", (code, name) => settle({ error: describeEarlyExit(code, name) }));
  });
}
