import { isRecord } from "../../protocol/isRecord.ts";

/** A failed request. `message` is a whole sentence for the page to show. */
export class RequestError extends Error {
  /** `unreachable`: no response; `refused`: an error; `unreadable`: a response that breaks the contract. */
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

/** @throws RequestError without a response, or with one that is not 2xx */
export async function request(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (cause) {
    throw new RequestError(
      "unreachable",
      "Kit isn't responding. Check that kit ui is still running.",
      { cause },
    );
  }
  if (response.ok) return response;
  throw new RequestError("refused", await refusal(response), { status: response.status });
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
  let value: unknown;
  try {
    value = await response.json();
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (!guard(value)) throw unreadable(path);
  return value;
}

function unreadable(path: string, cause?: unknown): RequestError {
  return new RequestError(
    "unreadable",
    `Kit sent an unexpected response to ${path}. Reload the page.`,
    { cause },
  );
}

async function refusal(response: Response): Promise<string> {
  const status = `Kit responded with ${response.status} ${response.statusText}`.trim();
  let text: string;
  try {
    text = await response.text();
  } catch {
    // The status says more than the error of a lost body would.
    return `${status}.`;
  }
  try {
    const body: unknown = JSON.parse(text);
    if (isRecord(body) && typeof body.error === "string") return body.error;
  } catch {
    // Not Kit's own response, perhaps a proxy's. Shown below if it is plain text.
  }
  const plain = response.headers.get("content-type")?.startsWith("text/plain") && text.trim();
  return plain ? `${status}: ${plain}` : `${status}.`;
}

/** The sentence to show for something thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
