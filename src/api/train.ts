import {
  type RunEnd,
  isRunEnd,
  ROUTES,
  RUN_ERROR_HEADER,
  RUN_HEADER,
  RUN_START_HEADER,
  RUN_STATUS_HEADER,
} from "../../protocol/http.ts";
import { request } from "./request.ts";

const TIMEOUT_MS = 20_000;

/** A run's output so far, then live until it ends. */
export interface RunOutput {
  /** The run's id; empty if the server sends none. */
  run: string;
  /** ISO 8601; empty if the server doesn't know. */
  startedAt: string;
  /** How it ended; undefined if it was in flight when this response began. */
  end: RunEnd | undefined;
  /** Why it failed, where its output can't say so. */
  error: string;
  /** Offset of `bytes` in the output. */
  from: number;
  bytes: ReadableStream<Uint8Array>;
}

/** How much of a run's output has been read. */
export interface Bookmark {
  run: string;
  /** Bytes read, from the run's first. */
  bytes: number;
}

/** JupyterHub's proxy buffers every response except to requests with this header. */
const UNBUFFERED = { headers: { Accept: "text/event-stream" } };

/**
 * Starts a run.
 * @throws RequestError status 409 while another run is in flight
 */
export async function startRun(): Promise<RunOutput> {
  return outputOf(await request(ROUTES.train, { method: "POST", ...UNBUFFERED }));
}

/**
 * The rest of the bookmarked run's output if that is still the last run; otherwise the last run's
 * output from its first byte, or undefined before the first run. A run in flight is the last one.
 * @throws RequestError
 */
export async function attachToRun(bookmark?: Bookmark): Promise<RunOutput | undefined> {
  const path = bookmark?.run ? ROUTES.restOfTrain(bookmark.run, bookmark.bytes) : ROUTES.train;
  // Headers arrive at once; without a limit, a dead connection would hang.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
  const response = await request(path, { ...UNBUFFERED, signal: timeout.signal }).finally(() =>
    clearTimeout(timer),
  );
  return response.status === 204 ? undefined : outputOf(response, bookmark);
}

function outputOf(response: Response, bookmark?: Bookmark): RunOutput {
  const run = response.headers.get(RUN_HEADER) ?? "";
  const status = response.headers.get(RUN_STATUS_HEADER);
  return {
    run,
    startedAt: response.headers.get(RUN_START_HEADER) ?? "",
    end: isRunEnd(status) ? status : undefined,
    error: decodeURIComponent(response.headers.get(RUN_ERROR_HEADER) ?? ""),
    from: run && run === bookmark?.run ? bookmark.bytes : 0,
    bytes: response.body ?? new Blob([]).stream(),
  };
}
