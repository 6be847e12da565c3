import { expect } from "vitest";
import type { JobsResponse } from "../../protocol/http.ts";
import { parseFrames, readBody } from "../uiServer.ts";

/** The status of each job in the list, by its id. */
export async function listJobs(url: string): Promise<Record<string, string>> {
  const response = await fetch(`${url}api/jobs`);
  expect(response.status).toBe(200);
  const { jobs } = (await response.json()) as JobsResponse;
  return Object.fromEntries(jobs.map(({ id, status }) => [id, status]));
}

/** The events of a job's stream, to its end. */
export async function streamOf(url: string, id: string): Promise<string[]> {
  const body = readBody(await fetch(`${url}api/jobs/${id}/events`));
  return parseFrames(String(await body.all())).map(({ event }) => String(event));
}
