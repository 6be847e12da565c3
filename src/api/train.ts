import {
  type RunEnd,
  isRunEnd,
  ROUTES,
  RUN_HEADER,
  RUN_STATUS_HEADER,
} from "../../protocol/http.ts";
import { request } from "./request.ts";

/** What a run has printed, and prints until it ends. */
export interface RunOutput {
  /** Which run it is; empty when the server does not say. */
  run: string;
  /** How it ended; undefined if it was in flight when this answer began. */
  end: RunEnd | undefined;
  /** How many bytes of it come before these. */
  from: number;
  bytes: ReadableStream<Uint8Array>;
}

/** How much of a run's output has been read. */
export interface Bookmark {
  run: string;
  /** A count, from the run's first byte. */
  bytes: number;
}

/** JupyterHub's proxy passes on at once what is asked for like this; any other answer it holds back. */
const AS_IT_COMES = { headers: { Accept: "text/event-stream" } };

/**
 * Starts a run.
 * @throws {RequestError} status 409 while another run is in flight
 */
export async function startRun(): Promise<RunOutput> {
  return outputOf(await request(ROUTES.train, { method: "POST", ...AS_IT_COMES }));
}

/**
 * The rest of the bookmarked run's output, as long as it is the last one; otherwise the output of
 * the last one from its first byte, or null when there was none. A run in flight is the last one.
 * @throws {RequestError}
 */
export async function attachToRun(bookmark?: Bookmark): Promise<RunOutput | null> {
  const path = bookmark?.run ? ROUTES.restOfTrain(bookmark.run, bookmark.bytes) : ROUTES.train;
  const response = await request(path, AS_IT_COMES);
  return response.status === 204 ? null : outputOf(response, bookmark);
}

function outputOf(response: Response, bookmark?: Bookmark): RunOutput {
  const run = response.headers.get(RUN_HEADER) ?? "";
  const status = response.headers.get(RUN_STATUS_HEADER);
  return {
    run,
    end: isRunEnd(status) ? status : undefined,
    from: run && run === bookmark?.run ? bookmark.bytes : 0,
    bytes: response.body ?? new Blob([]).stream(),
  };
}
