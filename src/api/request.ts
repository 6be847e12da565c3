import { isRecord } from "../../protocol/isRecord.ts";

/** A failed request. `message` is a whole sentence for the page to show. */
export class RequestError extends Error {
  /** The HTTP status of the response; 0 without one. */
  readonly status: number;

  constructor(status: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

/** @throws RequestError without a response, or with one that is not 2xx */
export async function request(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (cause) {
    throw new RequestError(0, "Kit isn't responding. Check that kit ui is still running.", cause);
  }
  if (response.ok) return response;
  throw new RequestError(response.status, await refusal(response));
}

/**
 * The JSON of a response from `path`, checked against the contract before it enters the page.
 * @throws RequestError
 */
export async function readResponse<T>(
  response: Response,
  path: string,
  guard: (value: unknown) => value is T,
): Promise<T> {
  // A body that isn't JSON is unexpected, too.
  const value: unknown = await response.json().catch(() => undefined);
  if (guard(value)) return value;
  throw new RequestError(
    response.status,
    `Kit sent an unexpected response to ${path}. Reload the page.`,
  );
}

/** Kit's own message, or a proxy's status. */
async function refusal(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined);
  if (isRecord(body) && typeof body.error === "string") return body.error;
  return `${`Kit responded with ${response.status} ${response.statusText}`.trim()}.`;
}

/** The sentence to show for something thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Longer than any silence of a live connection: Kit sends a heartbeat every 15 seconds. */
const SILENCE_MS = 40_000;

/** Calls `onSilence` after too long a silence. Starts at once. */
export function createSilenceTimer(onSilence: () => void): {
  /** Call when something arrives. */
  restart: () => void;
  stop: () => void;
} {
  let timer = setTimeout(onSilence, SILENCE_MS);
  const stop = () => clearTimeout(timer);
  return {
    stop,
    restart() {
      stop();
      timer = setTimeout(onSilence, SILENCE_MS);
    },
  };
}
