import { randomBytes } from "node:crypto";
import type { JobStore } from "../jobs/store.ts";
import type { Job } from "../protocol/job.ts";

/** So many jobs are turned to bytes again when one of them has changed. Each block is a write. */
const BLOCK_JOBS = 250;

const HEAD = Buffer.from('{"jobs":[');
const TAIL = Buffer.from("]}");

/** The body of `GET /api/jobs`, and a tag that is another when the body is. */
export interface JobsAnswer {
  etag: string;
  /** One after the other; never joined, which would take longer than all the rest. */
  parts: readonly Buffer[];
  /** Of all parts. */
  bytes: number;
}

interface Block {
  jobs: readonly Job[];
  bytes: Buffer;
}

/** Keeps the jobs list as the bytes that are sent, and makes anew only those that have changed. */
export function createJobsAnswer(store: Pick<JobStore, "list">): () => JobsAnswer {
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

/** @param isLast whether no older jobs follow */
function toBytes(jobs: readonly Job[], isLast: boolean): Buffer {
  return Buffer.from(`${JSON.stringify(jobs).slice(1, -1)}${isLast ? "" : ","}`);
}
