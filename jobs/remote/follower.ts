import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { hasGroups, signalTree } from "../../disk/processTree.ts";
import type { ErrorCode } from "../../protocol/error.ts";
import { formatCount } from "../../protocol/format.ts";
import { setAwakeTimeout } from "../../protocol/sleep.ts";
import { type FollowerMessage, isFollowerMessage } from "./followerMessage.ts";

/** Grace period to detach after SIGTERM. */
const GRACE_MS = 5_000;

/** Limit of output buffered before `begin`. */
const MAX_EARLY_BYTES = 1_048_576;

/** Error codes if another process was first. */
const TAKEN: (ErrorCode | undefined)[] = ["JOB_TAKEN", "JOB_ENDED"];

/** A `kit attach` subprocess. */
export interface Follower {
  ended: Promise<void>;
  /** Detaches it from its job, which keeps running. */
  close: () => Promise<void>;
}

/** A file for a follower's output. */
export interface FollowerOutput {
  /** Absolute. */
  path: string;
  /** Environment that adapts the output to the file's readers. */
  env: NodeJS.ProcessEnv;
}

export interface FollowerOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  /** The job's id. */
  id: string;
  /** Called when the job's state changes; the text is one line. */
  onMessage: (message: FollowerMessage) => void;
  graceMs?: number | undefined;
  /** Where its output goes once attached. */
  output?: FollowerOutput | undefined;
}

export function startFollower(options: FollowerOptions): Follower {
  const { project, kit, id, onMessage, graceMs = GRACE_MS, output } = options;
  const [program = "", ...args] = kit;
  const outputStdio = output ? "pipe" : "ignore";
  const child = spawn(program, [...args, "attach", id], {
    cwd: project,
    env: output?.env ?? process.env,
    stdio: ["ignore", outputStdio, outputStdio, "ipc"],
    // Ctrl-C in the terminal of `kit ui` must not cancel the job.
    detached: hasGroups(),
    windowsHide: true,
  });
  const recorder = output && createRecorder(output.path);
  if (recorder)
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", recorder.write);
  child.on("message", (message) => {
    if (!isFollowerMessage(message) || TAKEN.includes(message.code)) return;
    if (message.kind === "attached") recorder?.begin();
    const [line = ""] = message.text.split("\n", 1);
    onMessage({ ...message, text: line });
  });
  const ended = once(child, "close").then(
    () => undefined,
    (error: Error) => onMessage({ kind: "refused", text: error.message }),
  );
  if (recorder) void ended.then(() => recorder.close());
  return {
    ended,
    async close() {
      if (child.exitCode === null) signalTree(child, "SIGTERM");
      const timer = setAwakeTimeout(() => signalTree(child, "SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Appends a program's output to a file once `begin` is called. Until then, buffers its end. */
function createRecorder(path: string) {
  let early: Buffer[] | undefined = [];
  let earlyBytes = 0;
  let dropped = 0;
  let file: number | undefined;

  function write(bytes: Buffer): void {
    if (file !== undefined) append(file, bytes);
    if (!early) return;
    early.push(bytes);
    earlyBytes += bytes.length;
    while (earlyBytes > MAX_EARLY_BYTES) {
      const { length } = early.shift()!;
      earlyBytes -= length;
      dropped += length;
    }
  }

  return {
    write,
    begin(): void {
      const before = early;
      if (!before) return;
      early = undefined;
      try {
        // Opened once, because a later run's output is renamed to this path.
        file = openSync(path, "a");
      } catch {
        // Somebody deleted the folder; the job is followed anyway.
        return;
      }
      if (dropped > 0) {
        const size = `${formatCount(dropped / 1e6)} MB`;
        append(file, Buffer.from(`kit: dropped the first ${size} that kit attach printed\n`));
      }
      for (const bytes of before) append(file, bytes);
    },
    close(): void {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function append(file: number, bytes: Buffer): void {
  try {
    writeSync(file, bytes);
  } catch {
    // A full disk, say.
  }
}
