import type { Job } from "../../protocol/job.ts";
import { readRemoteLocation } from "../remoteLocation.ts";
import { type JobStore, createJobStore } from "../store.ts";
import { type Follower, type FollowerOutput, startFollower } from "./follower.ts";
import type { FollowerMessage } from "./followerMessage.ts";

/** Between two looks for jobs that nobody follows, and the first pause after a failure. */
const POLL_MS = 5_000;
const FIRST_MS = 500;
const MAX_PAUSE_MS = 300_000;

export interface Followers {
  /** Begins to look for jobs that nobody follows. */
  start: () => void;
  /** Whether a process of this server follows a job, or is trying to for the first time. */
  isFollowing: (id: string) => boolean;
  /** Leaves all jobs, which go on remotely. Idempotent. */
  close: () => Promise<void>;
}

export interface FollowersOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  jobs: Pick<JobStore, "list" | "get">;
  /** The job that the project's last run left, and where the run's output goes on. */
  lastRun?: { detachedJob: () => string | undefined; output: FollowerOutput };
  /** Called with a line when a job's state changes. */
  onNote: (text: string) => void;
  pollMs?: number | undefined;
  /** How long each may take to leave its job before it is killed. Default 5 s. */
  graceMs?: number | undefined;
}

/** What is known of a job that nobody followed. */
interface FollowState {
  follower?: Follower;
  /** Whether the last follower failed to attach. */
  hasFailed?: boolean;
  /** The last line about it: the same is not said twice. */
  lastLine?: string;
  pauseMs: number;
  /** By the monotonic clock, when to try next. */
  nextAt: number;
}

/** Follows the project's jobs that run remotely and that nobody follows, each by a process of its own. */
export function createFollowers(options: FollowersOptions): Followers {
  const { project, kit, jobs, onNote, pollMs = POLL_MS, graceMs, lastRun } = options;
  const known = new Map<string, FollowState>();
  let isClosed = false;

  function follow(id: string, state: FollowState): void {
    let isAttached = false;
    function onMessage({ kind, text }: FollowerMessage): void {
      isAttached ||= kind === "attached";
      if (isAttached) state.hasFailed = false;
      if (text === state.lastLine || isClosed) return;
      state.lastLine = text;
      onNote(`job ${id} ${text}`);
    }
    const output = lastRun?.detachedJob() === id ? lastRun.output : undefined;
    state.follower = startFollower({ project, kit, id, graceMs, output, onMessage });
    void state.follower.ended.then(() => {
      delete state.follower;
      state.hasFailed = !isAttached;
      state.pauseMs = isAttached ? pollMs : Math.min(2 * state.pauseMs, MAX_PAUSE_MS);
      state.nextAt = performance.now() + state.pauseMs;
    });
  }

  function followIfFree({ id, lastHeardAt }: Job): void {
    if (lastHeardAt === undefined) return;
    const state = known.get(id) ?? { pauseMs: pollMs, nextAt: 0 };
    known.set(id, state);
    if (!state.follower && performance.now() >= state.nextAt) follow(id, state);
  }

  const poll = () => listOrNone(jobs).forEach(followIfFree);

  let first: NodeJS.Timeout | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      // At once, since the page shows whether the last run goes on.
      const detached = jobs.get(lastRun?.detachedJob() ?? "");
      if (detached) followIfFree(detached.job);
      // Later, since many jobs take a while to list, and the page goes first.
      first = setTimeout(poll, Math.min(pollMs, FIRST_MS)).unref();
      timer = setInterval(poll, pollMs).unref();
    },
    isFollowing(id) {
      const { follower, hasFailed = false } = known.get(id) ?? {};
      return follower !== undefined && !hasFailed;
    },
    async close() {
      isClosed = true;
      clearTimeout(first);
      clearInterval(timer);
      const followers = [...known.values()].flatMap(({ follower }) => follower ?? []);
      await Promise.all(followers.map((follower) => follower.close()));
    },
  };
}

/**
 * Watches the jobs that run remotely and that a process here follows.
 * @param project the project's folder
 * @returns a function that returns a line for people for each that nobody follows any more
 */
export function watchDetachedJobs(project: string, jobs: JobStore): () => string[] {
  const running = listOrNone(jobs).filter(({ status }) => status === "running");
  const followed = running.flatMap(({ id, lastHeardAt }) => {
    const location = readRemoteLocation(jobs.directoryOf(id));
    return location && lastHeardAt === undefined ? [{ id, where: location.where }] : [];
  });
  return () => {
    // Remembers no owner's state.
    const now = createJobStore(project);
    return followed
      .filter(({ id }) => now.get(id)?.job.lastHeardAt !== undefined)
      .map(
        ({ id, where }) => `job ${id} keeps training on ${where}; the next kit ui follows it again`,
      );
  };
}

/** The jobs; empty if unreadable. */
function listOrNone(jobs: Pick<JobStore, "list">): readonly Job[] {
  try {
    return jobs.list();
  } catch {
    return [];
  }
}
