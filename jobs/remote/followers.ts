import type { Job } from "../../protocol/job.ts";
import { readRemoteLocation } from "../remoteLocation.ts";
import { type JobStore, createJobStore } from "../store.ts";
import { type Follower, type FollowerOutput, startFollower } from "./follower.ts";
import type { FollowerMessage } from "./followerMessage.ts";

/** How often to look for jobs that no process follows, and the first pause after a failure. */
const POLL_MS = 5_000;
const FIRST_MS = 500;
const MAX_PAUSE_MS = 300_000;

export interface Followers {
  /** Starts looking for jobs that no process follows. */
  start: () => void;
  /** Whether this server follows a job, or is attaching for the first time. */
  isFollowing: (id: string) => boolean;
  /** Detaches from all jobs, which keep running. Idempotent. */
  close: () => Promise<void>;
}

export interface FollowersOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  jobs: Pick<JobStore, "list" | "get">;
  /** The last run's detached job, and where the run's output continues. */
  lastRun?: { detachedJob: () => string | undefined; output: FollowerOutput };
  /** Called with a line of text when a job's state changes. */
  onNote: (text: string) => void;
  pollMs?: number | undefined;
  /** Grace period to detach before a kill. Default 5 s. */
  graceMs?: number | undefined;
}

interface FollowState {
  follower?: Follower;
  /** Whether the last follower failed to attach. */
  hasFailed?: boolean;
  /** The last note, to skip repeats. */
  lastLine?: string;
  pauseMs: number;
  /** Time of the next attempt, by the monotonic clock. */
  nextAt: number;
}

/** Follows the project's unfollowed remote jobs, each in its own process. */
export function createFollowers(options: FollowersOptions): Followers {
  const { project, kit, jobs, onNote, pollMs = POLL_MS, graceMs, lastRun } = options;
  const states = new Map<string, FollowState>();
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
    const state = states.get(id) ?? { pauseMs: pollMs, nextAt: 0 };
    states.set(id, state);
    if (!state.follower && performance.now() >= state.nextAt) follow(id, state);
  }

  const poll = () => listOrEmpty(jobs).forEach(followIfFree);

  let first: NodeJS.Timeout | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      // At once, because the page shows whether the last run continues.
      const detached = jobs.get(lastRun?.detachedJob() ?? "");
      if (detached) followIfFree(detached.job);
      // Later, because listing many jobs takes a while and the page goes first.
      first = setTimeout(poll, Math.min(pollMs, FIRST_MS)).unref();
      timer = setInterval(poll, pollMs).unref();
    },
    isFollowing(id) {
      const { follower, hasFailed = false } = states.get(id) ?? {};
      return follower !== undefined && !hasFailed;
    },
    async close() {
      isClosed = true;
      clearTimeout(first);
      clearInterval(timer);
      const followers = [...states.values()].flatMap(({ follower }) => follower ?? []);
      await Promise.all(followers.map((follower) => follower.close()));
    },
  };
}

/**
 * Watches the remote jobs that a local process follows.
 * @param project the project's folder
 * @returns a function that lists a note for each job that has lost its follower
 */
export function watchDetachedJobs(project: string, jobs: JobStore): () => string[] {
  const running = listOrEmpty(jobs).filter(({ status }) => status === "running");
  const followed = running.flatMap(({ id, lastHeardAt }) => {
    const location = readRemoteLocation(jobs.directoryOf(id));
    return location && lastHeardAt === undefined ? [{ id, where: location.where }] : [];
  });
  return () => {
    // A new store, without cached owners.
    const store = createJobStore(project);
    return followed
      .filter(({ id }) => store.get(id)?.job.lastHeardAt !== undefined)
      .map(
        ({ id, where }) => `job ${id} keeps training on ${where}; the next kit ui follows it again`,
      );
  };
}

function listOrEmpty(jobs: Pick<JobStore, "list">): readonly Job[] {
  try {
    return jobs.list();
  } catch {
    return [];
  }
}
