/** What the page says when a request fails; `message` is a whole sentence for the reader. */
export class RequestError extends Error {
  /** `unreachable`: no answer; `refused`: an answer that is an error; `unreadable`: not the contract. */
  readonly code: "unreachable" | "refused" | "unreadable";
  /** The HTTP status of a refusal. */
  readonly status: number | undefined;

  constructor(
    code: RequestError["code"],
    message: string,
    { status, cause }: { status?: number; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = "RequestError";
    this.code = code;
    this.status = status;
  }
}

/** @throws {RequestError} when there is no answer, or one that is not 2xx */
export async function request(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (cause) {
    throw new RequestError(
      "unreachable",
      "Kit does not answer. Check that kit ui is still running.",
      { cause },
    );
  }
  if (response.ok) return response;
  throw new RequestError("refused", await refusal(response), { status: response.status });
}

/**
 * The JSON of an answer to `path`. Its shape is checked, so that what enters the page is what the
 * contract says.
 * @throws {RequestError}
 */
export async function readJson<T>(
  response: Response,
  path: string,
  guard: (value: unknown) => value is T,
): Promise<T> {
  let value: unknown;
  try {
    value = await response.json();
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (!guard(value)) throw unreadable(path);
  return value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function unreadable(path: string, cause?: unknown): RequestError {
  return new RequestError(
    "unreadable",
    `Kit's answer to ${path} was not understood. Reload the page.`,
    { cause },
  );
}

async function refusal(response: Response): Promise<string> {
  const status = `Kit answered ${response.status} ${response.statusText}`.trim();
  let text: string;
  try {
    text = await response.text();
  } catch {
    // The status alone still says more than the lost body's error would.
    return `${status}.`;
  }
  try {
    const body: unknown = JSON.parse(text);
    if (isRecord(body) && typeof body.error === "string") return body.error;
  } catch {
    // Not Kit's own answer, perhaps a proxy's: shown below as far as it is plain text.
  }
  const plain = response.headers.get("content-type")?.startsWith("text/plain") && text.trim();
  return plain ? `${status}: ${plain}` : `${status}.`;
}

/** What to tell the reader about something thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
