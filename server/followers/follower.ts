import { spawn } from "node:child_process";
import { once } from "node:events";
import { signalGroup } from "../processGroup.ts";
import { inColour } from "../run/colour.ts";
import { createRecorder } from "./recorder.ts";

/** How long it may take to leave its job after SIGTERM. */
const GRACE_MS = 5_000;

/** The lines of `kit attach` that say how the job stands or warn of something. */
const TELLING = /^(attached|completed|cancelled|failed:|kit:|warning:) /;
/** Another process was first. */
const TAKEN = /^kit: Job \S+ (is followed already|has ended)/;

/** A `kit attach` subprocess. */
export interface Follower {
  ended: Promise<void>;
  /** Has it leave its job, which goes on remotely. */
  close: () => Promise<void>;
}

export interface FollowerOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  /** The job's. */
  id: string;
  /** Takes each line that says how the job stands. */
  onLine: (line: string) => void;
  graceMs?: number | undefined;
  /** Absolute path of the file to which all that it prints is added once it is attached. */
  output?: string | undefined;
}

export function startFollower(options: FollowerOptions): Follower {
  const { project, kit, id, onLine, graceMs = GRACE_MS, output } = options;
  const [program = "", ...first] = kit;
  const printed = output === undefined ? "ignore" : "pipe";
  const child = spawn(program, [...first, "attach", id], {
    cwd: project,
    env: output === undefined ? process.env : inColour(process.env),
    stdio: ["ignore", printed, printed, "ipc"],
    // Ctrl-C in the terminal of `kit ui` would cancel the job.
    detached: true,
  });
  const record = output === undefined ? undefined : createRecorder(output);
  if (record) for (const stream of [child.stdout, child.stderr]) stream?.on("data", record.write);
  child.on("message", (said) => {
    if (typeof said !== "string") return;
    // Details are below it.
    const [line = ""] = said.split("\n", 1);
    if (line.startsWith("attached ")) record?.begin();
    if (TELLING.test(line) && !TAKEN.test(line)) onLine(line.replace(/^kit: /, ""));
  });
  const ended = once(child, "close").then(
    () => undefined,
    (error: Error) => onLine(error.message),
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
