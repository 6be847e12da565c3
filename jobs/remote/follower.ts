import { spawn } from "node:child_process";
import { once } from "node:events";
import { signalGroup } from "../../disk/processGroup.ts";
import type { ErrorCode } from "../../protocol/errorCode.ts";
import { type FollowerMessage, isFollowerMessage } from "./followerMessage.ts";
import { createRecorder } from "./recorder.ts";

/** How long it may take to leave its job after SIGTERM. */
const GRACE_MS = 5_000;

/** Another process was first. */
const TAKEN: (ErrorCode | undefined)[] = ["JOB_TAKEN", "JOB_ENDED"];

/** A `kit attach` subprocess. */
export interface Follower {
  ended: Promise<void>;
  /** Has it leave its job, which goes on remotely. */
  close: () => Promise<void>;
}

/** A file for what a follower prints. */
export interface FollowerOutput {
  /** Absolute. */
  path: string;
  /** In which it prints as the file's readers like it. */
  env: NodeJS.ProcessEnv;
}

export interface FollowerOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  /** The job's. */
  id: string;
  /** Called with a line when the job's state changes. */
  onMessage: (message: FollowerMessage) => void;
  graceMs?: number | undefined;
  /** Where all that it prints is added once it is attached. */
  output?: FollowerOutput | undefined;
}

export function startFollower(options: FollowerOptions): Follower {
  const { project, kit, id, onMessage, graceMs = GRACE_MS, output } = options;
  const [program = "", ...first] = kit;
  const printed = output ? "pipe" : "ignore";
  const child = spawn(program, [...first, "attach", id], {
    cwd: project,
    env: output?.env ?? process.env,
    stdio: ["ignore", printed, printed, "ipc"],
    // Ctrl-C in the terminal of `kit ui` would cancel the job.
    detached: true,
  });
  const record = output && createRecorder(output.path);
  if (record) for (const stream of [child.stdout, child.stderr]) stream?.on("data", record.write);
  child.on("message", (said) => {
    if (!isFollowerMessage(said) || TAKEN.includes(said.code)) return;
    if (said.kind === "attached") record?.begin();
    const [line = ""] = said.text.split("\n", 1);
    onMessage({ ...said, text: line });
  });
  const ended = once(child, "close").then(
    () => undefined,
    (error: Error) => onMessage({ kind: "refused", text: error.message }),
  );
  if (record) void ended.then(() => record.close());
  return {
    ended,
    async close() {
      const { pid } = child;
      if (pid !== undefined && child.exitCode === null) signalGroup(pid, "SIGTERM");
      const timer = setTimeout(() => pid !== undefined && signalGroup(pid, "SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
