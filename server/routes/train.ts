import type { ServerResponse } from "node:http";
import type { JobStore } from "../../jobs/store.ts";
import { isKitError, messageOf } from "../../protocol/error.ts";
import {
  RESUME_FROM,
  RESUME_RUN,
  RUN_ERROR_HEADER,
  RUN_HEADER,
  RUN_START_HEADER,
  RUN_STATUS_HEADER,
} from "../../protocol/http.ts";
import type { Route } from "../context.ts";
import { closeSignal, sendError, writeChunk } from "../http/respond.ts";
import { byteOffset, targetOf } from "../http/target.ts";
import { failureOf } from "../jobs/killedJob.ts";
import type { Run } from "../run/runner.ts";

const MAX_TRIES = 3;

type Output = Awaited<ReturnType<Run["output"]>>;

/** `POST /api/train`: launches `kit start` and streams what it prints. */
export const postTrain: Route = async ({ runner, jobs, admitStream }, { response }) => {
  // Before starting a run whose output could not be shown.
  if (!admitStream(response)) return;
  let run: Run;
  try {
    run = await runner.start();
  } catch (error) {
    const isInFlight = isKitError(error) && error.code === "RUN_IN_FLIGHT";
    sendError(response, isInFlight ? 409 : 500, messageOf(error));
    return;
  }
  await streamOutput(jobs, run, response, await run.output(closeSignal(response)));
};

/**
 * `GET /api/train`: the output of the current or last run; 204 without one. A client that names the run
 * gets the rest of its output.
 */
export const getTrain: Route = async ({ runner, jobs, admitStream }, { request, response }) => {
  const { query } = targetOf(request);
  let isAdmitted = false;
  // Retry when another run replaces the last one meanwhile.
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const run = await runner.last();
    if (!run) {
      response.writeHead(204, { "Cache-Control": "no-store" }).end();
      return;
    }
    isAdmitted ||= admitStream(response);
    if (!isAdmitted) return;
    const isKnown = run.id !== "" && run.id === query.get(RESUME_RUN);
    const from = isKnown ? byteOffset(query.get(RESUME_FROM) ?? undefined) : 0;
    const output = await run.output(closeSignal(response), from);
    if (output || tries === MAX_TRIES) return streamOutput(jobs, run, response, output);
  }
};

async function streamOutput(
  jobs: JobStore,
  run: Run,
  response: ServerResponse,
  output: Output,
): Promise<void> {
  const status = run.status();
  const startedAt = run.startedAt();
  const error = status === "failed" ? failureOf(run.owner, jobs) : undefined;
  response.writeHead(200, {
    "Content-Type": "text/plain; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    [RUN_HEADER]: run.id,
    [RUN_STATUS_HEADER]: status,
    ...(startedAt !== undefined && { [RUN_START_HEADER]: startedAt }),
    ...(error !== undefined && { [RUN_ERROR_HEADER]: encodeURIComponent(error) }),
  });
  response.flushHeaders();
  for await (const chunk of output ?? []) {
    await writeChunk(response, chunk);
  }
  // Clients now read the job's status, and the cached owner check may be older than the run's end.
  jobs.expireOwners();
  response.end();
}
