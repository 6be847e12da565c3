import type { JobStore } from "../../jobs/store.ts";
import { listOrNone } from "../jobs/listOrNone.ts";
import { type Follower, startFollower } from "./follower.ts";

/** Between two looks for jobs that nobody follows, and the first pause after a failure. */
const LOOK_MS = 5_000;
const FIRST_MS = 500;
const LONGEST_PAUSE_MS = 300_000;

export interface Followers {
  /** Leaves all jobs, which go on elsewhere. Idempotent. */
  close: () => Promise<void>;
}

export interface FollowersOptions {
  /** Absolute path. */
  project: string;
  /** The `kit` command: a program and its first arguments. */
  kit: string[];
  jobs: Pick<JobStore, "list">;
  /** Takes a line for people when a job's standing changes. */
  onNote: (text: string) => void;
  lookMs?: number | undefined;
  /** How long each may take to leave its job before it is killed. Default 5 s. */
  graceMs?: number | undefined;
}

/** What is known of a job that nobody followed. */
interface Trials {
  follower?: Follower;
  /** The last line about it: the same is not said twice. */
  said?: string;
  pauseMs: number;
  /** By the monotonic clock, when to try next. */
  nextAt: number;
}

/** Follows the project's jobs that run elsewhere and that nobody follows, each by a process of its own. */
export function createFollowers(options: FollowersOptions): Followers {
  const { project, kit, jobs, onNote, lookMs = LOOK_MS, graceMs } = options;
  const known = new Map<string, Trials>();
  let isClosed = false;

  function follow(id: string, trials: Trials): void {
    let isAttached = false;
    function say(line: string): void {
      isAttached ||= line.startsWith("attached");
      if (line === trials.said || isClosed) return;
      trials.said = line;
      onNote(`job ${id} ${line}`);
    }
    trials.follower = startFollower({ project, kit, id, graceMs, onLine: say });
    void trials.follower.ended.then(() => {
      delete trials.follower;
      trials.pauseMs = isAttached ? lookMs : Math.min(2 * trials.pauseMs, LONGEST_PAUSE_MS);
      trials.nextAt = performance.now() + trials.pauseMs;
    });
  }

  function look(): void {
    for (const { id, lastHeardAt } of listOrNone(jobs)) {
      if (lastHeardAt === undefined) continue;
      const trials = known.get(id) ?? { pauseMs: lookMs, nextAt: 0 };
      known.set(id, trials);
      if (!trials.follower && performance.now() >= trials.nextAt) follow(id, trials);
    }
  }

  // Not at once: many jobs take a while to list, and the page goes first.
  const first = setTimeout(look, Math.min(lookMs, FIRST_MS)).unref();
  const timer = setInterval(look, lookMs).unref();
  return {
    async close() {
      isClosed = true;
      clearTimeout(first);
      clearInterval(timer);
      const followers = [...known.values()].flatMap(({ follower }) => follower ?? []);
      await Promise.all(followers.map((follower) => follower.close()));
    },
  };
}
