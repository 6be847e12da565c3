import { KitError } from "../../protocol/error.ts";
import type { ReadyOptions } from "./assertReady.ts";

/** A place that runs a program and keeps what it prints. Everything above it is the same for each. */
export interface Remote {
  /** As errors name it. */
  readonly name: string;
  /** With which the engine finds it again. */
  readonly address: string;
  /**
   * Asks whether jobs can run there, before anything is read or sent.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`, `CLUSTER_UNFIT`
   */
  assertReady: (options?: ReadyOptions) => Promise<void>;
  /** Starts a job, or finds the one with its id that an earlier call has started. */
  submit: (submission: Submission) => Promise<void>;
  status: (id: string, signal?: AbortSignal) => Promise<RemoteStatus>;
  /** A unique name of the remote since its last start; undefined if it has none. */
  session: (signal?: AbortSignal) => Promise<string | undefined>;
  /**
   * What the job prints, as long as the connection lasts.
   * @param log.isEnded whether it prints no more; else new output is waited for
   * @param log.lines the last ones that are there, and what comes. Default: from the first byte
   */
  log: (
    id: string,
    log: { isEnded: boolean; lines?: number | undefined },
    signal: AbortSignal,
  ) => AsyncIterable<Buffer>;
  /**
   * Stops a job, and resolves once it has ended; does nothing for an ended one.
   * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED` when it may go on, within half a minute
   */
  stop: (id: string) => Promise<void>;
  /**
   * Hands bytes to a job, which finds them under their names. By a file in the job's folder, where jobs
   * have one.
   * @param name of this message alone
   */
  send: (id: string, name: string, bytes: Buffer) => Promise<void>;
  /**
   * A file that a job has staged for this machine.
   * @throws KitError `CLUSTER_UNREACHABLE` when the connection is cut
   */
  read: (file: RemoteFile, signal: AbortSignal) => AsyncIterable<Buffer>;
}

export interface Submission {
  id: string;
  /** The job gets it in `KIT_JOB_SECRET`, and marks its messages by it. */
  secret: string;
  /** What the job finds in its working directory. */
  files: readonly PackedFile[];
  command: string;
  /** Aborting ends the attempt: at once, or soon after the job was sent, which may then be there. */
  signal?: AbortSignal | undefined;
  /** Called once the files are there, just before the job starts, with the remote's session. */
  onSend?: (session: string | undefined) => void;
}

export interface PackedFile {
  /** With forward slashes. */
  path: string;
  bytes: Buffer;
}

export interface RemoteStatus {
  /** `unknown`: it was never submitted, or the remote has forgotten it. */
  phase: "waiting" | "running" | "ended" | "unknown";
  /** Whether a job that has ended ran to the end of its program. */
  hasSucceeded?: boolean;
  /** What the job waits for, or why it ended, if the remote knows. */
  message?: string;
}

export interface RemoteFile {
  node: string;
  path: string;
}

/**
 * A remote may stand where the job's own stood, as behind a tunnel.
 * @param session the job's, if it is known
 * @throws KitError `CANNOT_FOLLOW` unless it is the remote's; `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export async function assertSession(
  remote: Remote,
  session: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const now = await remote.session(signal);
  if (session !== undefined && now === session) return;
  throw new KitError(
    "CANNOT_FOLLOW",
    `Another cluster answers at ${remote.address}. Reconnect the original. If that was restarted, the job is lost: delete its placement.json and run npx kit start --resume.`,
  );
}
