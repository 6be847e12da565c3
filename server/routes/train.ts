import type { ServerResponse } from "node:http";
import { isKitError, messageOf } from "../../protocol/error.ts";
import type { Route } from "../context.ts";
import { closeSignal, sendError, writeChunk } from "../respond.ts";
import type { Run } from "../run.ts";

/** `POST /api/train`: launches `kit start` and streams what it prints. */
export const postTrain: Route = async ({ runner }, { response }) => {
  let run: Run;
  try {
    run = await runner.start();
  } catch (error) {
    const isInFlight = isKitError(error) && error.code === "RUN_IN_FLIGHT";
    sendError(response, isInFlight ? 409 : 500, messageOf(error));
    return;
  }
  await streamOutput(run, response);
};

/** `GET /api/train`: what the run in flight has printed and prints; 204 when there is none. */
export const getTrain: Route = async ({ runner }, { response }) => {
  const run = await runner.current();
  if (!run) {
    response.writeHead(204, { "Cache-Control": "no-store" }).end();
    return;
  }
  await streamOutput(run, response);
};

async function streamOutput(run: Run, response: ServerResponse): Promise<void> {
  response.writeHead(200, {
    "Content-Type": "text/plain; charset=utf-8",
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
  });
  response.flushHeaders();
  for await (const chunk of run.output(closeSignal(response))) {
    await writeChunk(response, chunk);
  }
  response.end();
}
