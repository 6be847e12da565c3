import { spawn } from "node:child_process";
import { hasGroups, signalTree } from "../disk/processTree.ts";
import {
  DEFAULT_ENTRY,
  LOAD_LIMIT_MS,
  describeEarlyExit,
  stillLoading,
} from "../protocol/entry.ts";
import { KitError } from "../protocol/error.ts";
import { type Manifest, type ManifestMessage, isManifestMessage } from "../protocol/http.ts";
import { setAwakeTimeout } from "../protocol/sleep.ts";

/** Concurrent subprocesses: several, so that a project that was just corrected can load while an earlier read hangs. */
const MAX_CONCURRENT = 4;

export interface ManifestReader {
  /**
   * Builds and loads the project in a subprocess that its code can't keep alive. Waits while
   * {@link MAX_CONCURRENT} others run.
   * @param signal aborts a read that still waits
   * @throws KitError `MANIFEST_FAILED` with the build's or the import's error
   */
  read: (signal: AbortSignal) => Promise<Manifest>;
  /** Kills the subprocesses, and starts no more. */
  close: () => void;
}

export interface ManifestReaderOptions {
  /** Absolute path of the project. */
  project: string;
  /** The `kit` command: Node, its script, and first arguments. */
  kit: string[];
  /** How long building and loading may take. Default 30 s. */
  limitMs?: number;
}

export function createManifestReader(options: ManifestReaderOptions): ManifestReader {
  const closing = new AbortController();
  let reading = 0;
  const waiting: (() => void)[] = [];
  return {
    async read(signal) {
      if (reading === MAX_CONCURRENT) await new Promise<void>((begin) => waiting.push(begin));
      else reading++;
      try {
        signal.throwIfAborted();
        if (closing.signal.aborted) throw failed("kit ui is shutting down. Start it again.");
        const message = await loadManifest(options, closing.signal);
        if ("error" in message) throw failed(message.error);
        return message;
      } finally {
        const next = waiting.shift();
        if (next) next();
        else reading--;
      }
    },
    close: () => closing.abort(),
  };
}

function failed(error: string): KitError {
  return new KitError("MANIFEST_FAILED", error);
}

/** Resolves with the subprocess's message, once it and all its children have been killed. */
function loadManifest(
  options: ManifestReaderOptions,
  signal: AbortSignal,
): Promise<ManifestMessage> {
  const { project, kit, limitMs = LOAD_LIMIT_MS } = options;
  const [program = "", ...first] = kit;
  return new Promise((resolve) => {
    const child = spawn(program, [...first, "manifest"], {
      cwd: project,
      // What the project prints while it loads is dropped.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      detached: hasGroups(),
      windowsHide: true,
    });
    const kill = () => void signalTree(child, "SIGKILL");
    let answer: ManifestMessage | undefined;
    const conclude = (message: ManifestMessage) => {
      answer ??= message;
      kill();
    };
    const timer = setAwakeTimeout(() => {
      conclude({ error: stillLoading(DEFAULT_ENTRY, limitMs) });
    }, limitMs);
    const settle = (message: ManifestMessage) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      conclude(message);
      resolve(answer ?? message);
    };
    signal.addEventListener("abort", kill);
    child.on("message", (message) => {
      if (isManifestMessage(message)) conclude(message);
    });
    child.once("error", ({ message }) =>
      settle({
        error: `Cannot run kit: ${message}. Start kit ui again. If it happens again, reinstall Kit.`,
      }),
    );
    child.once("exit", kill);
    // Its message may still be on its way when it exits.
    child.once("close", (code, name) =>
      settle({ error: describeEarlyExit(DEFAULT_ENTRY, code ?? undefined, name ?? undefined) }),
    );
  });
}
