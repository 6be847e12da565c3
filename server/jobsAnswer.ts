import { randomBytes } from "node:crypto";
import type { JobStore } from "../jobs/store.ts";
import type { Job } from "../protocol/job.ts";

/** How many jobs are turned to bytes again when one of them has changed. */
const BLOCK_JOBS = 100;

/** The body of `GET /api/jobs`, and a tag that is another when the body is. */
export interface JobsAnswer {
  etag: string;
  body: Buffer;
}

interface Block {
  jobs: readonly Job[];
  bytes: Buffer;
}

/** Keeps the jobs list as the bytes that are sent, and makes anew only those that have changed. */
export function createJobsAnswer(store: JobStore): () => JobsAnswer {
  const server = randomBytes(9).toString("base64url");
  let version = 0;
  let listed: readonly Job[] | undefined;
  /** The oldest jobs first, so that a new job leaves the blocks of all others as they are. */
  let blocks: Block[] = [];
  let answer: JobsAnswer;
  return () => {
    const jobs = store.list();
    if (jobs === listed) return answer;
    listed = jobs;
    blocks = renew(blocks, jobs);
    answer = { etag: `"${server}-${version++}"`, body: join(blocks) };
    return answer;
  };
}

function renew(blocks: Block[], jobs: readonly Job[]): Block[] {
  const count = Math.ceil(jobs.length / BLOCK_JOBS);
  return Array.from({ length: count }, (_, place) => {
    const end = jobs.length - place * BLOCK_JOBS;
    const part = jobs.slice(Math.max(0, end - BLOCK_JOBS), end);
    const known = blocks[place];
    const isSame =
      known?.jobs.length === part.length && part.every((job, n) => job === known.jobs[n]);
    return isSame ? known : { jobs: part, bytes: Buffer.from(JSON.stringify(part).slice(1, -1)) };
  });
}

function join(blocks: Block[]): Buffer {
  const comma = Buffer.from(",");
  const parts = blocks.toReversed().flatMap(({ bytes }) => [comma, bytes]);
  return Buffer.concat([Buffer.from('{"jobs":['), ...parts.slice(1), Buffer.from("]}")]);
}
