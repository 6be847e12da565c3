import { randomBytes } from "node:crypto";
import type { JobStore } from "../../jobs/store.ts";
import type { Job } from "../../protocol/job.ts";

/** When a job changes, its block is serialized again. Each block is a write. */
const BLOCK_JOBS = 250;

const HEAD = Buffer.from('{"jobs":[');
const TAIL = Buffer.from("]}");

/** The body of `GET /api/jobs`, and a tag that changes with it. */
export interface JobsAnswer {
  etag: string;
  /** In order. Joining them would take longer than all the rest. */
  parts: readonly Buffer[];
  /** Length of all parts. */
  bytes: number;
}

interface Block {
  jobs: readonly Job[];
  bytes: Buffer;
}

/** Caches the jobs list as bytes, and serializes only the blocks that have changed. */
export function createJobsAnswer(store: Pick<JobStore, "list">): () => JobsAnswer {
  const server = randomBytes(9).toString("base64url");
  let version = 0;
  let listed: readonly Job[] | undefined;
  /** Oldest jobs first, so that a new job changes only the last block. */
  let blocks: Block[] = [];
  let answer: JobsAnswer;
  return () => {
    const jobs = store.list();
    if (jobs === listed) return answer;
    listed = jobs;
    blocks = renew(blocks, jobs);
    const parts = [HEAD, ...blocks.map(({ bytes }) => bytes).reverse(), TAIL];
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    answer = { etag: `"${server}-${version++}"`, parts, bytes };
    return answer;
  };
}

function renew(blocks: Block[], jobs: readonly Job[]): Block[] {
  const count = Math.ceil(jobs.length / BLOCK_JOBS);
  return Array.from({ length: count }, (_, place) => {
    const end = jobs.length - place * BLOCK_JOBS;
    const start = Math.max(0, end - BLOCK_JOBS);
    const known = blocks[place];
    if (known?.jobs.length === end - start && isAt(known.jobs, jobs, start)) return known;
    const part = jobs.slice(start, end);
    return { jobs: part, bytes: toBytes(part, place === 0) };
  });
}

function isAt(part: readonly Job[], jobs: readonly Job[], start: number): boolean {
  return part.every((job, n) => job === jobs[start + n]);
}

/** @param isLast whether this block has the oldest jobs */
function toBytes(jobs: readonly Job[], isLast: boolean): Buffer {
  return Buffer.from(`${JSON.stringify(jobs).slice(1, -1)}${isLast ? "" : ","}`);
}
